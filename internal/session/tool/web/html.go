package web

import (
	"html"
	"strings"
)

// Text is what a person reads of an HTML page: headings, paragraphs, lists and preformatted parts as lines; scripts,
// styles and markup are left out. It reads any input in one pass and never fails.
func Text(page string) string {
	t := text{}
	for page != "" {
		at := strings.IndexByte(page, '<')
		if at < 0 {
			t.words(page)
			break
		}
		t.words(page[:at])
		page = t.tag(page[at:])
	}
	return strings.TrimSpace(t.out.String())
}

type text struct {
	out    strings.Builder
	pre    int  // depth of preformatted parts
	breaks int  // line ends at the end of out
	space  bool // a space is due before the next word
}

// words writes text between two tags.
func (t *text) words(s string) {
	if s == "" {
		return
	}
	s = html.UnescapeString(s)
	if t.pre > 0 {
		t.out.WriteString(s)
		t.breaks = len(s) - len(strings.TrimRight(s, "\n"))
		return
	}
	fields := strings.Fields(s)
	if len(fields) == 0 || strings.TrimLeft(s, " \t\r\n\f") != s {
		t.space = true
	}
	for i, f := range fields {
		if (t.space || i > 0) && t.out.Len() > 0 && t.breaks == 0 {
			t.out.WriteByte(' ')
		}
		t.out.WriteString(f)
		t.breaks, t.space = 0, false
	}
	if len(fields) > 0 {
		t.space = strings.TrimRight(s, " \t\r\n\f") != s
	}
}

// line ends the line, and leaves at least n-1 empty ones.
func (t *text) line(n int) {
	for ; t.out.Len() > 0 && t.breaks < n; t.breaks++ {
		t.out.WriteByte('\n')
	}
	t.space = false
}

// tag takes the tag that s begins with and returns what follows it, or what follows the element when none of it is read.
func (t *text) tag(s string) string {
	if rest, ok := strings.CutPrefix(s, "<!--"); ok {
		_, rest, _ = strings.Cut(rest, "-->")
		return rest
	}
	name := strings.ToLower(nameOf(strings.TrimPrefix(s[1:], "/")))
	if name == "" && !strings.HasPrefix(s, "<!") && !strings.HasPrefix(s, "<?") {
		t.words("<") // a sign, not a tag
		return s[1:]
	}
	rest := after(s)
	if strings.HasPrefix(s, "</") {
		t.close(name)
		return rest
	}
	switch name {
	case "script", "style", "noscript", "template", "svg", "iframe", "object", "select":
		return past(rest, name)
	case "br":
		t.breaks = min(t.breaks, 1)
		t.line(t.breaks + 1)
	case "li", "dt":
		t.line(1)
		t.out.WriteString("- ")
		t.breaks = 0
	case "pre":
		t.line(2)
		t.pre++
	case "td", "th":
		t.space = true
	default:
		t.close(name)
	}
	return rest
}

// close ends the line where an element stands on lines of its own.
func (t *text) close(name string) {
	switch name {
	case "pre":
		t.pre = max(0, t.pre-1)
		t.line(2)
	case "p", "h1", "h2", "h3", "h4", "h5", "h6", "table", "ul", "ol", "dl", "blockquote", "title":
		t.line(2)
	case "div", "section", "article", "header", "footer", "main", "nav", "tr", "hr", "li", "dd", "figure", "form":
		t.line(1)
	}
}

func nameOf(s string) string {
	end := strings.IndexFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
	if end < 0 {
		end = len(s)
	}
	return s[:end]
}

// after is what follows the tag, whose attributes may hold the sign that ends it between quotes.
func after(s string) string {
	quote := byte(0)
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			return s[i+1:]
		}
	}
	return ""
}

// past is what follows the end of the element name, whose content is not read.
func past(s, name string) string {
	for {
		at := strings.Index(s, "</")
		if at < 0 {
			return ""
		}
		s = s[at+2:]
		if strings.EqualFold(nameOf(s), name) {
			return after("<" + s)
		}
	}
}
