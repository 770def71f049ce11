"""The elements of HTML, by what they mean for a translation.

Source: the HTML standard (html.spec.whatwg.org), sections 4 and 15.3, with obsolete elements of section 16.2.
"""

# They end a line of text: what stands before and after them is translated apart.
BLOCKS = frozenset(
    """address article aside blockquote body br button caption center col colgroup datalist dd details dialog dir
    div dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr
    html iframe legend li link main menu meta nav noframes noscript ol optgroup option p pre script search
    section select source style summary table tbody td template textarea tfoot th thead title tr track ul""".split()  # noqa: SIM905
)
INLINE = frozenset(
    """a abbr acronym applet area audio b base bdi bdo big canvas cite code data del dfn em embed font i img input
    ins kbd label map mark math meter nobr object output param picture progress q rp rt ruby s samp slot
    small span strike strong sub sup svg time tt u var video wbr""".split()  # noqa: SIM905
)
ELEMENTS = BLOCKS | INLINE
# They have no closing tag.
VOID = frozenset("area base br col embed frame hr img input link meta param source track wbr".split())  # noqa: SIM905
# Their contents are no mark-up: they end at the closing tag. The first ones are no text either.
RAW = frozenset("script style iframe noembed noframes xmp".split())  # noqa: SIM905
RAW_TEXT = frozenset(("textarea", "title"))
# Their contents are not translated.
UNTRANSLATED = RAW | frozenset("code kbd math pre samp svg template textarea var".split())  # noqa: SIM905
