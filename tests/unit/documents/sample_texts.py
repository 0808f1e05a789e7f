"""An HTML page and subtitles that several tests translate."""

PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Help &amp; more</title>
<style>p { color: red }</style><script>var a = "<p>no</p>";</script></head>
<body class=x>
 <h1>How  to <em>start</em></h1>
 <p>Press <kbd>Ctrl</kbd>+<kbd>S</kbd> to save <img src=a.png alt="A floppy disk" /> it. Then
   close <a href="x.html" title='Go "on"'>the window</a>; that is all.<br>
   The end</p>
 <ul><li>One<li>Two <code>x = 1</code> three</ul>
 <pre>keep  this</pre><p translate=no>Nope</p><div class="a notranslate">No</div>
 <input placeholder=Search> <textarea placeholder="Write">keep</textarea>
 <![CDATA[ x ]]><?php echo 1 ?><!-- A comment -->
 <table><tr><td>10&nbsp;km</td><td>&Uuml;ber &#x26; &unknown; </td></tr></table>
</body></html>
"""

SUBTITLES = """1
00:00:01,000 --> 00:00:02,000
{\\an8}I think that
you know <i>this</i>

2
00:00:02,000 --> 00:00:03,500 X1:1
and go on with it.
Bye now!

3
00:00:04,000 --> 00:00:05,000
- Hello.
- Who are you?
"""
