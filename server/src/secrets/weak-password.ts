/**
 * Passwords an attacker tries first: the most common leaked passwords and what people make of them. The list of 49,000
 * is that of @zxcvbn-ts/language-common; it is loaded when a password is chosen, because nothing else needs it.
 */

/** Shorter stems, context words and runs (`qwe`, `123`, `aaa`) match too much by accident. */
const MIN_PIECE = 3
/** A password made of three unrelated words is a passphrase. */
const MAX_STEMS = 2

/** Famous and not on the list. */
const EXTRA_PASSWORDS = ['correcthorsebatterystaple', 'a1b2c3d4e5f6']

const KEYBOARDS = ['qwerty', 'qwertz', 'azerty', 'keypad'] as const

const SEQUENCES = ['01234567890', '09876543210', 'abcdefghijklmnopqrstuvwxyza', 'zyxwvutsrqponmlkjihgfedcbaz']

export type IsCommonPassword = (password: string, context: readonly string[]) => boolean

let loaded: Promise<IsCommonPassword> | undefined

/** Loads the list once per process. */
export function loadCommonPasswords(): Promise<IsCommonPassword> {
  loaded ??= import('@zxcvbn-ts/language-common').then(({ dictionary, adjacencyGraphs }) =>
    createIsCommonPassword(
      [...dictionary['passwords-common'], ...EXTRA_PASSWORDS],
      KEYBOARDS.map((name) => adjacencyGraphs[name]),
    ),
  )
  return loaded
}

type KeyboardGraph = Readonly<Record<string, readonly (string | null)[]>>

function createIsCommonPassword(listed: readonly string[], keyboards: readonly KeyboardGraph[]): IsCommonPassword {
  const stems = stemsOf(listed)
  const layouts = [...keyboards.map(stepsOf), new Set(SEQUENCES.flatMap(pairsOf))]
  const isRun = (characters: readonly string[]) =>
    layouts.some((steps) => characters.every((each, at) => at === 0 || isStep(steps, characters[at - 1] ?? '', each)))

  return (password, context) => {
    const words = wordsOf(context)
    const whole = password.normalize('NFKC').toLowerCase()
    const variants = [whole, repeatedPart(whole), withoutEnd(whole), withoutEnds(whole)].filter((text) => text !== '')
    return isNumber(whole) || variants.some((text) => minStems(text, { stems, words, isRun }) <= MAX_STEMS)
  }
}

/** `dragon12` lists `dragon`, too: only the digits differ from one user to the next. */
function stemsOf(listed: readonly string[]): ReadonlySet<string> {
  const stems = new Set<string>()
  for (const each of listed) stems.add(folded(each)).add(folded(withoutEnd(each)))
  return stems
}

/** `password2024!` is `password`. */
function withoutEnd(text: string): string {
  const characters = Array.from(text)
  return characters.slice(0, characters.findLastIndex(isLetter) + 1).join('')
}

/** `2024-password!` is `password`. */
function withoutEnds(text: string): string {
  const characters = Array.from(withoutEnd(text))
  const first = characters.findIndex(isLetter)
  return characters.slice(Math.max(first, 0)).join('')
}

/** Anything but digits, punctuation, symbols and spaces. */
function isLetter(character: string): boolean {
  return !/[\d\p{P}\p{S}\s]/u.test(character)
}

/** Dates, telephone numbers, `a1234567`; and listed numbers with further digits. */
function isNumber(text: string): boolean {
  return /^\p{L}?[\d\s._@+-]+$/u.test(text)
}

/** `adminadminadmin` is `admin`. */
function repeatedPart(text: string): string {
  return text.slice(0, text.repeat(2).indexOf(text, 1))
}

const LOOK_ALIKES: Readonly<Record<string, string>> = {
  ...{ '0': 'o', '1': 'l', '3': 'e', '4': 'a', '5': 's', '7': 't', '8': 'b', '9': 'g' },
  ...{ '@': 'a', $: 's', '!': 'l', '|': 'l', '+': 't', '€': 'e', i: 'l' },
}

/** Keeps the number of characters, so that positions in both texts agree. */
function folded(text: string): string {
  return Array.from(text, (character) => LOOK_ALIKES[character] ?? character).join('')
}

/** The user's e-mail address and its parts, the names of the account and the service: public knowledge. */
function wordsOf(context: readonly string[]): ReadonlySet<string> {
  const words = context
    .map((each) => each.normalize('NFKC').toLowerCase())
    .flatMap((each) => [each, ...each.split('@', 1), ...each.split(/[^\p{L}\p{N}]/u)])
  return new Set(words.map(folded))
}

/** Every pair of neighbouring keys, shifted or not. */
function stepsOf(keyboard: KeyboardGraph): ReadonlySet<string> {
  const steps = new Set<string>()
  for (const [key, neighbours] of Object.entries(keyboard)) {
    for (const neighbour of neighbours) for (const to of neighbour ?? '') steps.add((key + to).toLowerCase())
  }
  return steps
}

function pairsOf(sequence: string): readonly string[] {
  return Array.from(sequence.slice(1), (character, index) => sequence.charAt(index) + character)
}

function isStep(steps: ReadonlySet<string>, from: string, to: string): boolean {
  return from === to || steps.has(from + to)
}

type Pieces = {
  readonly stems: ReadonlySet<string>
  readonly words: ReadonlySet<string>
  readonly isRun: (characters: readonly string[]) => boolean
}

/**
 * The fewest listed stems that make up the text together with runs, context words and separators, which count nothing.
 * Infinity: the text has another part.
 */
function minStems(text: string, { stems, words, isRun }: Pieces): number {
  const characters = Array.from(text)
  const fold = Array.from(folded(text))
  const min: number[] = [0]
  for (let end = 1; end <= characters.length; end += 1) {
    let best = isSeparator(characters[end - 1] ?? '') ? (min[end - 1] ?? Infinity) : Infinity
    for (let start = end - MIN_PIECE; start >= 0; start -= 1) {
      const before = min[start] ?? Infinity
      if (before >= best) continue
      const piece = fold.slice(start, end).join('')
      if (words.has(piece) || isRun(characters.slice(start, end))) best = before
      else if (stems.has(piece)) best = Math.min(best, before + 1)
    }
    min.push(best)
  }
  return min[characters.length] ?? Infinity
}

function isSeparator(character: string): boolean {
  return /[\s._@+-]/.test(character)
}
