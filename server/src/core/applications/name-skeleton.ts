/**
 * Skeleton of a name: the name reduced so that two names which look alike have the same skeleton. Follows Unicode's UTS
 * 39, section 4, with a map of our own: closed, short, and limited to letters that look like a Latin one in the usual
 * fonts. Skeletons are compared and never shown.
 */

/**
 * Pairs of a letter and the Latin letters it looks like. Capitals have entries of their own: Η looks like H, and η like
 * n.
 */
const LOOK_ALIKES = [
  // Latin beyond ASCII that NFKD does not decompose: with strokes, dotless, small capitals, ligatures.
  'ı i ł l ƚ l ɫ l ø o đ d ð d ħ h ŧ t ƀ b ƃ b ɓ b ƈ c ɗ d ɖ d ƒ f ɠ g ɡ g ƙ k ɱ m ɲ n ŋ n ƞ n ƥ p ʠ q ɍ r ʂ s ƭ t ʋ u ʉ u ʌ v ɑ a ə e ɛ e ɩ i ɪ i ʟ l',
  'ᴀ a ʙ b ᴄ c ᴅ d ᴇ e ꜰ f ɢ g ʜ h ᴊ j ᴋ k ᴍ m ɴ n ᴏ o ᴘ p ʀ r ꜱ s ᴛ t ᴜ u ᴠ v ᴡ w ʏ y ᴢ z þ p æ ae œ oe ß ss Ɩ l ǀ l ꓲ l Ɵ o ɵ o',
  // Cyrillic.
  'а a А a в b В b Ь b ь b с c С c ԁ d е e Е e ҽ e є e ғ f ԍ g һ h Һ h н h Н h і i І i ї i ј j Ј j к k К k қ k ӏ l Ӏ l м m М m п n о o О o ө o',
  'р p Р p ԛ q г r я r ѕ s Ѕ s т t Т t ц u ѵ v Ѵ v ѡ w ԝ w Ԝ w х x Х x ҳ x у y У y ү y Ү y ұ y ӡ z',
  // Greek.
  'α a Α a β b Β b ϲ c Ϲ c δ d ε e Ε e ϵ e Η h Ι i ι i ϳ j Κ k κ k Μ m Ν n η n Ο o ο o σ o θ o Ρ p ρ p ϱ p Γ r Τ t τ t υ u μ u ν v ω w Χ x χ x Υ y γ y Ζ z ζ z',
  // Armenian.
  'ա w գ q զ q հ h ի h յ j Լ l լ l ո n ռ n ց g օ o Օ o Տ s ս u Ս u ւ l ք p Ո n',
  // Cherokee, in capitals; latinFor() maps the small letters to them.
  'Ꭰ d Ꭱ r Ꭲ t Ꭵ i Ꭹ y Ꭺ a Ꭻ j Ꭼ e Ꮁ r Ꮃ w Ꮇ m Ꮋ h Ꮍ y Ꮐ g Ꮒ h Ꮓ z Ꮟ b Ꮢ r Ꮤ w Ꮥ s Ꮩ v Ꮪ s Ꮮ l Ꮯ c Ꮲ p Ꮶ k Ꮷ d Ꮼ w Ᏻ g Ᏼ b',
  // Lisu.
  'ꓐ b ꓑ p ꓓ d ꓔ t ꓖ g ꓗ k ꓙ j ꓚ c ꓜ z ꓝ f ꓟ m ꓠ n ꓡ l ꓢ s ꓣ r ꓦ v ꓧ h ꓪ w ꓫ x ꓬ y ꓮ a ꓰ e ꓳ o ꓴ u',
  // Digits and signs that look like letters.
  '0 o 1 i | i ¦ i ∣ i │ i @ a $ s € e',
].join(' ')

const latinByLetter: ReadonlyMap<string, string> = readPairs(LOOK_ALIKES)

function readPairs(text: string): ReadonlyMap<string, string> {
  const parts = text.split(' ')
  return new Map(parts.flatMap((part, at) => (at % 2 === 0 ? [[part, parts[at + 1] ?? ''] as const] : [])))
}

/**
 * Whether a reader could confuse the two names. Also compared in lower case, for names of which only one is in
 * capitals.
 */
export function looksLike(name: string, other: string): boolean {
  return (
    nameSkeleton(name) === nameSkeleton(other) || nameSkeleton(name.toLowerCase()) === nameSkeleton(other.toLowerCase())
  )
}

export function nameSkeleton(name: string): string {
  // ™ and ℠ are no part of the name. NFKD turns full-width letters, mathematical letters, ligatures and superscripts
  // into plain ones, and accents into marks, which are removed.
  const plain = name.replace(/[™℠]/g, '').normalize('NFKD').replace(/\p{M}/gu, '')
  return (
    Array.from(plain, latinFor)
      .join('')
      .toLowerCase()
      // Spaces, hyphens and dots are ignored: "Ac me" equals "Acme".
      .replace(/[^\p{L}\p{N}]/gu, '')
      .replaceAll('l', 'i')
      .replaceAll('rn', 'm')
      .replaceAll('vv', 'w')
  )
}

function latinFor(letter: string): string {
  const forms = [letter, letter.toUpperCase(), letter.toLowerCase()]
  return forms.map((form) => latinByLetter.get(form)).find((latin) => latin !== undefined) ?? letter
}
