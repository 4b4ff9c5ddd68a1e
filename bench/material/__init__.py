"""What the benchmarks are fed with: recordings, sentences, wordings, traffic."""
