"""What speaks: written text to words, words to phonemes, phonemes to sound."""
