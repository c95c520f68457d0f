/**
 * Passwords an attacker tries first: the most common leaked passwords and what people make of them. The list of 49,000
 * is that of @zxcvbn-ts/language-common; it is loaded when a password is chosen, because nothing else needs it.
 */

import { normalised } from '../core/sign-in/password.ts'

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
  const stemLengths = lengthsOf(stems)
  const layouts = [...keyboards.map(stepsOf), new Set(SEQUENCES.flatMap(pairsOf))]

  return (password, context) => {
    const words = wordsOf(context)
    const lengths = [...new Set([...stemLengths, ...lengthsOf(words)])].filter((length) => length >= MIN_PIECE)
    const whole = normalised(password).toLowerCase()
    const variants = new Set([whole, repeatedPart(whole), withoutEnd(whole), withoutEnds(whole)])
    variants.delete('')
    return isNumber(whole) || [...variants].some((text) => isMadeOf(text, { stems, words, lengths, layouts }))
  }
}

function lengthsOf(texts: ReadonlySet<string>): ReadonlySet<number> {
  return new Set(Array.from(texts, (text) => Array.from(text).length))
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
    .map((each) => normalised(each).toLowerCase())
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
  /** Of stems and words. */
  readonly lengths: readonly number[]
  readonly layouts: readonly ReadonlySet<string>[]
}

/**
 * Whether the text is made up of few listed stems together with runs, context words and separators, which count nothing.
 * Takes time in proportion to the length of the text: it is checked while others wait.
 */
function isMadeOf(text: string, { stems, words, lengths, layouts }: Pieces): boolean {
  const characters = Array.from(text)
  const fold = folded(text)
  /** Positions in `fold`: some characters are two code units. */
  const at: number[] = [0]
  /** The fewest stems before each position; Infinity: there is something else before it. */
  const min: number[] = [0]
  const runs = layouts.map((steps) => ({ steps, start: 0, before: Infinity }))
  for (let end = 1; end <= characters.length; end += 1) {
    const character = characters[end - 1] ?? ''
    at.push((at[end - 1] ?? 0) + character.length)
    let best = isSeparator(character) ? (min[end - 1] ?? Infinity) : Infinity
    for (const run of runs) {
      if (end > 1 && !isStep(run.steps, characters[end - 2] ?? '', character)) {
        run.start = end - 1
        run.before = Infinity
      }
      if (end - run.start >= MIN_PIECE) run.before = Math.min(run.before, min[end - MIN_PIECE] ?? Infinity)
      best = Math.min(best, run.before)
    }
    for (const length of lengths) {
      const before = min[end - length] ?? Infinity
      if (before >= best) continue
      const piece = fold.slice(at[end - length], at[end])
      if (words.has(piece)) best = before
      else if (before < MAX_STEMS && stems.has(piece)) best = Math.min(best, before + 1)
    }
    min.push(best)
  }
  return min.at(-1) !== Infinity
}

function isSeparator(character: string): boolean {
  return /[\s._@+-]/.test(character)
}
