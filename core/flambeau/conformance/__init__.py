"""The conformance kit: does flambeau work on a backend?  ``python -m flambeau conformance NAME`` runs it."""
