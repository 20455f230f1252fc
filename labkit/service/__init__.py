"""Stage 11: parts of the lab as HTTP services, for several processes and machines."""
