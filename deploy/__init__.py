"""Files that run `assignor watch` as a service, and the program that writes the dashboard."""
