// Text as it is: what a screen does not show, or shows as something else, is shown by its name.
const BIDI_AND_INVISIBLE = /[\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202f\u205f-\u206f\u3164\ufeff\ufff0-\ufffb]/g;
const CONTROLS = /[\u0000-\u001f]/g;

const hexadecimal = (text) => `⟨U+${text.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`;

// Of a name or a value in one line. Line ends and tabs are named as well.
export const visible = (text) => (text === null || text === undefined ? text : String(text)
  .replace(CONTROLS, (found) => String.fromCharCode(0x2400 + found.charCodeAt(0)))
  .replace(BIDI_AND_INVISIBLE, hexadecimal));
