"""English: the one place that knows what people mean by it, and how to say something in it.

No I/O, nothing of ours below it but each other; dateparser and dateutil are loaded at the first
question. What others call:

    answers         consent (to what cannot be undone), answer (to a question for a yes or a no),
                    accepts (what was proposed), stops, dismisses, corrects, chosen (which one),
                    plain, BACKCHANNEL
    numbers         number, numbers_in, figures (words to numbers); cardinal, ordinal, nth, year,
                    label, quantity … (numbers to words); operator, counting
    mentions        times_in, repeats_in, places_in: does this hold a time, a repetition, a place?
                    only_time, untimed, leaves_days_open; requests_in (several in one breath),
                    asks_for (what kind of words a question wants)
    words           pieces, content, alike, shares (words compared), foreign (not English)
    understanding         understand (words to an instant, or what to ask), relative, clocked
    times.dates           instant (a local clock time), day
    times.lexicon         the names of days, months, units, parts of the day
    recurrence.reading    recurrence (words to an RFC 5545 rule, or what to ask)
    recurrence.rules      parts_of (a rule checked), next_occurrence, instants
    telling         spoken, moment_words, date_words, clock_words, rule_words: what the voice says
    dictation       dictated, settled (names as people spell them aloud)
    ending          ending: does what was heard so far look finished?
    aloud           spoken (written English as one reads it out)
"""
