"""Groups that our assignors for kafka-python and aiokafka lead, on a real cluster with racks."""
