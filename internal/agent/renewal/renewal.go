// Package renewal reads in an agent's words when a usage limit is renewed. Agents say it to people, each in its own way,
// and most of them in no field of their protocol. The forms that are read are those of codex 0.171 ("or try again at
// 3:24 PM.", "at Dec 2nd, 2026 3:24 PM."), of claude 2.1 ("resets 3pm (Europe/Berlin)", "resets Dec 3 at 3pm") and before
// it ("limit reached|1796050800"), of gemini 0.61 ("reset after 10h10m5s", "Please retry in 12.5s") and of the services
// behind them (retryDelay, resets_at, resets_in_seconds). What has another form is not known: nothing is guessed.
package renewal

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// longest is how far ahead a renewal is believed: limits of a month are the longest that agents have.
const longest = 62 * 24 * time.Hour

// At returns the moment that text names, in seconds of Unix time, for a text that was said at said; clock times without a
// zone are of said's location. 0 when it names none that can be read, or one that is past or too far ahead.
func At(text string, said time.Time) int64 {
	if said.IsZero() || len(text) > maxText {
		return 0
	}
	for _, read := range []func(string, time.Time) time.Time{field, span, moment, clock} {
		if at := read(text, said); at.After(said) && at.Before(said.Add(longest)) {
			return at.Unix()
		}
	}
	return 0
}

// maxText bounds in bytes a text that is looked at.
const maxText = 64 << 10

// field reads a number that is a moment or a span: of old claudes, and of services' answers as they are.
func field(text string, said time.Time) time.Time {
	if m := regexp.MustCompile(`(?i)(?:limit reached\||resets_?at"?\s*[:=]\s*)"?(\d{10})\b`).FindStringSubmatch(text); m != nil {
		seconds, _ := strconv.ParseInt(m[1], 10, 64) // ten digits
		return time.Unix(seconds, 0)
	}
	m := regexp.MustCompile(`(?i)(?:resets_in_seconds|retry[-_]after)"?\s*[:=]\s*"?(\d{1,8})\b`).FindStringSubmatch(text)
	if m == nil {
		return time.Time{}
	}
	seconds, _ := strconv.Atoi(m[1])
	return said.Add(time.Duration(seconds) * time.Second)
}

// span reads how long it takes: "try again in 3 days 4 hours 5 minutes", "reset after 10h10m5s", "retry in 12.5s".
func span(text string, said time.Time) time.Time {
	const lead = `(?i)(?:(?:try again|retry|resets?|renewed) (?:in|after)|retryDelay"?\s*:\s*"?)\s*((?:[\d.]+\s*[a-z]+[,\s]*(?:and\s+)?)+)`
	m := regexp.MustCompile(lead).FindStringSubmatch(text)
	if m == nil {
		return time.Time{}
	}
	var total time.Duration
	for _, part := range regexp.MustCompile(`([\d.]+)\s*([a-zA-Z]+)`).FindAllStringSubmatch(m[1], -1) {
		n, err := strconv.ParseFloat(part[1], 64)
		unit := unitOf(part[2])
		if err != nil || unit == 0 {
			break // the sentence goes on behind it
		}
		total += time.Duration(n * float64(unit))
	}
	if total <= 0 {
		return time.Time{}
	}
	return said.Add(max(total, time.Second))
}

func unitOf(word string) time.Duration {
	switch strings.ToLower(word) {
	case "ms":
		return time.Millisecond
	case "s", "sec", "secs", "second", "seconds":
		return time.Second
	case "m", "min", "mins", "minute", "minutes":
		return time.Minute
	case "h", "hr", "hrs", "hour", "hours":
		return time.Hour
	case "d", "day", "days":
		return 24 * time.Hour
	case "w", "week", "weeks":
		return 7 * 24 * time.Hour
	}
	return 0
}

// moment reads a moment as machines write it, behind a word that says what it is.
func moment(text string, _ time.Time) time.Time {
	m := regexp.MustCompile(`(?i)(?:reset|renew|again|retry)[^\n]{0,40}?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d| UTC))`).FindStringSubmatch(text)
	if m == nil {
		return time.Time{}
	}
	stamp := strings.Replace(strings.Replace(m[1], " UTC", "Z", 1), " ", "T", 1)
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00"} {
		if at, err := time.Parse(layout, stamp); err == nil {
			return at
		}
	}
	return time.Time{}
}

// clock reads a time of day, with a date or without one: the next such moment is meant.
func clock(text string, said time.Time) time.Time {
	const form = `(?i)(?:try again at|resets?(?: at| on)?)\s+(?:([a-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?(?:,? (\d{4}))?(?:,| at)? )?(\d{1,2})(?::(\d\d))?\s?(am|pm)(?: \(([A-Za-z_]+(?:/[A-Za-z_+\-0-9]+)*)\))?`
	m := regexp.MustCompile(form).FindStringSubmatch(text)
	if m == nil {
		return time.Time{}
	}
	zone := said.Location()
	if m[7] != "" {
		named, err := time.LoadLocation(m[7])
		if err != nil {
			return time.Time{}
		}
		zone = named
	}
	now := said.In(zone)
	hour, _ := strconv.Atoi(m[4])
	minute, _ := strconv.Atoi(m[5]) // none is 0
	if hour < 1 || hour > 12 || minute > 59 {
		return time.Time{}
	}
	hour %= 12
	if strings.EqualFold(m[6], "pm") {
		hour += 12
	}
	if m[1] == "" {
		at := time.Date(now.Year(), now.Month(), now.Day(), hour, minute, 0, 0, zone)
		if !at.After(now) {
			at = time.Date(now.Year(), now.Month(), now.Day()+1, hour, minute, 0, 0, zone)
		}
		return at
	}
	return dated(m[1:4], now, hour, minute)
}

// dated is a time of day on a date, of which the year may be missing.
func dated(date []string, now time.Time, hour, minute int) time.Time {
	name := strings.ToLower(date[0])
	month, err := time.Parse("Jan", strings.ToUpper(name[:1])+name[1:3])
	day, _ := strconv.Atoi(date[1])
	if err != nil || day < 1 || day > 31 {
		return time.Time{}
	}
	year, _ := strconv.Atoi(date[2])
	if year == 0 {
		year = now.Year()
		if month.Month() < now.Month() {
			year++
		}
	}
	return time.Date(year, month.Month(), day, hour, minute, 0, 0, now.Location())
}
