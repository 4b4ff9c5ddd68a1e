"""What people say in any talk, whatever it is about: answers, changes of mind, thanks.

Lines to be near to, not patterns to match: how near an utterance is to them is measured by who
understands it (`brain`). By what is meant; `set` is an answer or a correction.
"""

from __future__ import annotations

from collections.abc import Mapping


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.strip().splitlines())


SAYINGS: Mapping[str, tuple[str, ...]] = {
    "set": _lines("""
        Thursday at nine
        half past three in the afternoon
        the first one
        the one with Anna
        make it eleven instead
        no, I meant Tuesday
        not six, seven
        at the supermarket
        same time as before
        by the end of next year
        in the morning around eight
        every weekday
        only once
        the fourteenth of March at noon
        sorry, I said it wrong, quarter past
        two weeks later
        the doctor one, on Monday
        my passport, on Wednesday at ten
        tomorrow
        tomorrow at six
        eight in the evening would be good
        um, let me think, Friday, about four
        say half ten
        five p.m.
        at noon
        next Monday then
        the day after, same time
        on weekdays only
        just Mondays and Fridays
        every day
        twice a week
        when I get home
        once I'm at work
        the second
        the last one
        the one in the morning
        both of them
        the early one
        the other one
        that would be the dentist
        the garden one please
        in June
        in two years
        sometime next spring
        before my birthday
        wait, no, Wednesday
        sorry, I meant the ninth
        actually make that five o'clock
        oh no, quarter to, not quarter past
        I said Dan, not Stan
        it's called the Red Lion, not the Red Line
        no no, in the evening
        evening, obviously
        a.m.
        the morning, of course
        change it to Saturday
        could you make it an hour earlier
        not this week, the week after
        only on the second of each month
        it's for Maria, not for Mary
        call it gym, not swim
        in the file settings
        the one in the source folder
        yesterday's
        forty-two
        the blue one
        to the kitchen
        about the summer trip
        by the time I'm forty
        before I retire
        when the kids have left home
        within three years
        until the end of next year
        the morning one
        the one on Friday
        with my sister
        it was about the bike
        around lunchtime
        after the summer
        whenever, say noon
        Friday then, I suppose
        my sister's
    """),
    "yes": _lines("""
        yes
        yeah go on
        correct
        yes please do
        that's right
        sure, do it
        yep, all of them
        okay fine
        yeah
        yup
        of course
        absolutely
        please do
        go ahead
        ok
        aye, that'll do
        exactly
        that's the one
        right you are
        yes, that's fine
        sounds good
        mm-hm
        sure thing
        haan, yes
        why not
        do that
        I suppose so, yes
        definitely
        yes, both
        that's what I want
    """),
    "no": _lines("""
        no
        nope, that's all
        no thanks, nothing else
        no, don't
        nah I'm good
        no, I'll do it myself
        no, that's everything
        not really
        no, not that
        nothing else
        that's it
        that's all for now
        no need
        please don't
        negative
        nope
        no, nothing special
        I don't think so
        that will be all
        nothing more, dear
        no date really
        no, just the one
        none of them
        I'd rather not
        not at the moment
        that's all thanks
        no date in mind
        doesn't matter when
        there's no deadline
        no rush with that
        I haven't thought about that
        not that I know of
        no idea really
    """),
    "undo": _lines("""
        put it back how it was
        undo that
        no, leave it where it was before
        take that back
        actually don't, restore it
        I didn't want that, reverse it
        oh no, that was wrong, put it back
        undo
        go back to what it was
        I shouldn't have done that, bring it back
        forget that last one, I don't need it
        leave it as it was after all
        on second thoughts, keep it where it is
        scrap that, I've changed my mind
        can you cancel what you just did
        revert that please
        wait, I still need that, don't remove it
        delete the one you just added
        no, I didn't mean to add that
        actually, no, don't put that in
        keep the old time, they called again
        hang on, restore the one you deleted
        that was a mistake, take it out again
        never mind that reminder, get rid of it
    """),
    "drop": _lines("""
        never mind
        forget it
        oh leave it, not important
        don't bother then
        it's gone, doesn't matter
        actually drop it
        no, I changed my mind, nothing
        skip it
        doesn't matter
        leave it
        nah forget about it
        it's fine, don't worry about it
        let's leave that
        ah, no, I'll sort it out myself
        stop, I don't want that after all
        cancel that
        ignore that
        nothing, sorry
        not needed any more
        let it be
        we'll do that another time
        I'll come back to that
        I don't want to talk about it any more
        let's not
        it's not needed
        stop, leave it alone
    """),
    "thanks": _lines("""
        thanks a lot
        cheers mate, bye
        that's great, thank you
        you're a star, see you
        perfect, good night
        much appreciated
        bye for now
        thank you so much
        ta
        thanks
        lovely, thank you dear
        ok bye
        goodbye
        great, that's it, thanks
        nice one
        thank you, that is very kind
        see you later
        brilliant, cheers
        awesome thanks
        have a nice day
        wonderful
        good stuff, speak soon
        thanks, you too
    """),
    "chat": _lines("""
        how are you doing
        tell me a joke
        do you have feelings
        you sound nice
        I had a terrible day
        who made you
        it's raining cats and dogs here
        what do you think of football
        are you a robot
        hello
        hi there
        good morning
        hey what's up
        I'm so tired today
        my knees are killing me
        what's your name
        how old are you
        can you hear me
        you're funny
        I don't like Mondays
        do you know any stories
        is anybody there
        what can you do
        the neighbours are so loud again
        I love this weather
        my daughter got married last week
        what's your favourite colour
        you don't sound like a real person
        do you sleep
        isn't life strange
        namaste
        good evening, dear
        long time no see
        what sort of things can you do
        what can I ask you
        how do you work
        what are you for
        who are you
        my back hurts again
        I've had such a long day
        my grandson is visiting, he's so clever
        it's lovely to hear a voice
        are you always there
    """),
    "unclear": _lines("""
        so I was going to
        wait a second
        the, uh, what's it called, with the
        I need you to erm
        hold on a moment
        can you put the
        no, what was I saying
        so, um, the
        hang on
        let me think
        one moment please
        I was just, er
        could you maybe, the, you know
        and then the other
        if you could just
        blah blah fnord
        hmm
        uh
        well, it's about
        what was it now
        just a sec, someone's at the door
        sorry, I'm talking to my wife
        the thing, you know the thing
        I want to, how do you say
        with the, with the
        ehm, so
        remind me to, no, wait
        remind me about, oh, it's gone
        put down the, um, the
        could you delete the, what's it called
        I had it a moment ago
        it's on the tip of my tongue
        oh what was I going to say
        move the, er, hang on a sec
    """),
}
