"""English: the one place that knows what people mean by it, and how to say something in it.

No I/O, nothing of ours below it but each other; dateutil is loaded at the first rule. What
others call:

    answers         consent (to what cannot be undone), answer (to a question for a yes or a no),
                    accepts (what was proposed), stops, corrects, chosen (which one),
                    plain, BACKCHANNEL
    addresses       read (a web address in its parts, as it is opened), said_in (those in a text)
    numbers         number, numbers_in, figures (words to numbers); cardinal, ordinal, nth, year,
                    label, quantity … (numbers to words); operator, counting
    mentions        times_in, repeats_in, places_in: does this hold a time, a repetition, a place?
                    only_time, untimed
    questions       asks (is something asked, or asked for?), requests (orders in one breath)
    words           pieces, content, alike, shares (words compared), foreign (not English)
    resolving       resolve (words, or mentions found in them, to a moment or a rule, or what is
                    missing, by name), Profile (somebody's day), Resolution
    times.reading   find (the times in running speech, with their places), without (a title
                    without them), Mention
    windows         window (the stretch of time that words speak of: "this week"), fits (is a moment
                    one they mean: "my three o'clock", "the Friday one")
    understanding   understand (the same as an instant or a question in words), relative, clocked,
                    says_when
    times           tokens, grammar (words to pieces), said (pieces to one time), dates (the
                    calendar; instant: a local clock time), lexicon and zones (words as data)
    recurrence.reading    recurrence (words to an RFC 5545 rule, or what to ask)
    recurrence.rules      parts_of (a rule checked), next_occurrence, instants
    telling         in_words, day_in_words, hour_in_words, rule_in_words: what the voice says;
                    spoken, moment_words, date_words, clock_words, rule_words: what a model reads
    dictation       dictated, settled (names as people spell them aloud)
    naming          chosen, mentioned (files by spoken names), patterns, settings (names of code to
                    look for), literal, expression, address (what is written, from what was said)
    ending          ending: does what was heard so far look finished?
    aloud           spoken (written English as one reads it out)
"""
