// Package audit writes what was asked, allowed and refused into a log of lines of JSON, and reads it. [Open] opens the
// log of a project's settings, [Log.Append] adds an event, [Read] returns the events of a log, and [Verify] finds the
// lines that are missing, cut, edited or in another order.
//
// Each line has a keyed hash of itself and of the line before. The key and the hash of the last line are in the user's
// folder, outside the repository: who can write the log and not read the key cannot change it unseen. A program that
// runs as the user without any restriction can.
//
// A log is written by many short programs at once. Each waits for the others for at most 5 milliseconds; after that the
// event is put aside, and the next program that writes one adds it to the chain.
//
// No secret is written that modec recognizes, and arguments only by a keyed digest, unless the settings ask for them.
package audit
