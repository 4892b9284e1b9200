"""Consumer groups in virtual time: a model of Kafka's coordinator, and members that meet it over a bad network."""
