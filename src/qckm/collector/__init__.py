"""A service that adds up what shops and sensors send, each once, and says what is in the sum (docs/collector.md)."""
