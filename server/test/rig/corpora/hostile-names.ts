/** UC-20: two hundred names that an application must not have, generated from a table of what is wrong and where. */

const ESCAPE = String.fromCodePoint(0x1b)

/** Invisible characters, and characters that change the direction of the text around them. */
const CHARACTERS: Readonly<Record<string, readonly number[]>> = {
  'a control character': [0x00, 0x07, 0x08, 0x09, 0x0a, 0x0d, 0x1b, 0x7f, 0x85, 0x9b],
  'a line or paragraph separator': [0x2028, 0x2029],
  'a mark that turns writing around': [
    0x061c, 0x200e, 0x200f, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069,
  ],
  'a character of no width': [0x00ad, 0x034f, 0x180e, 0x200b, 0x200c, 0x200d, 0x2060, 0x2061, 0x2064, 0xfeff, 0xfff9],
  'a letter that is drawn as nothing': [0x115f, 0x1160, 0x17b4, 0x2800, 0x3164, 0xffa0],
  'a variation selector or a tag': [0x180b, 0xfe00, 0xfe0f, 0xe0001, 0xe0041, 0xe0100],
  'a character of private use': [0xe000, 0xf8ff, 0xf0000, 0x10fffd],
  'half of a surrogate pair': [0xd800, 0xdbff, 0xdc00, 0xdfff],
  'a character that does not exist': [0xfdd0, 0xffff, 0x1fffe],
  'a space that is not the plain one': [0x00a0, 0x1680, 0x2002, 0x2003, 0x2009, 0x202f, 0x205f, 0x3000],
}

/** Each character at the start, inside and at the end, so that no rule checks one end only. */
function around(point: number): readonly string[] {
  const character = String.fromCodePoint(point)
  return [`${character}Acme`, `SVC Sup${character}port`, `Kasse 4${character}`]
}

const WHOLE: Readonly<Record<string, readonly string[]>> = {
  nothing: ['', ' ', '   '],
  'nothing but symbols': ['🔒', '✓', '✔ ✔', '***', '---', '…', '€', '™', '(!)', '🔒🔒 ✓', '$$$', '.'],
  'not composed (NFC)': ['Cafe\u0301', 'A\u030angstro\u0308m', '\u212bngström', '\u1112\u1161\u11ab'],
  'padded, so that the rest of a line is out of sight': [
    ' Acme',
    'Acme ',
    'Acme  by us',
    `Acme${' '.repeat(60)}made by us`,
  ],
  'marks that stand on nothing, or that climb over the lines above': [
    '\u0336Acme',
    'Acme \u0338Corp',
    `A${'\u0316\u0321\u0327\u0353\u0359\u0338'}cme`,
    `Pay${'\u0334\u0338\u0321\u0327\u0328\u0330\u0331'}`,
  ],
  'too long': ['A'.repeat(101), 'Ä'.repeat(101)],
  'a sequence for a terminal': [`${ESCAPE}[31mAcme`, `Acme${ESCAPE}]8;;https://evil.example${ESCAPE}\\`],
}

export const hostileNames: readonly (readonly [reason: string, names: readonly string[]])[] = [
  ...Object.entries(CHARACTERS).map(([reason, points]) => [reason, points.flatMap(around)] as const),
  ...Object.entries(WHOLE),
]
