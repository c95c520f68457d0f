/**
 * Languages of the web interface and of mails. Every text comes from messages/*.json through this module; English is
 * the reference, and a language that lacks one of its keys does not compile.
 */
import { IntlMessageFormat } from 'intl-messageformat'
import type { ComponentChildren } from 'preact'
import ar from '../messages/ar.json' with { type: 'json' }
import de from '../messages/de.json' with { type: 'json' }
import en from '../messages/en.json' with { type: 'json' }
import es from '../messages/es.json' with { type: 'json' }
import type { MessageKey, Overlay } from '../messages/overlay.ts'

export type { MessageKey }

type LanguageEntry = {
  /** In the language itself, so that a user who got the wrong one can find theirs. */
  readonly name: string
  readonly locale: string
  readonly direction: 'ltr' | 'rtl'
  readonly messages: Readonly<Record<MessageKey, string>>
}

/** Latin digits in Arabic as well: a code on a television and the same code on this page must look alike. */
const BUILT_IN: Readonly<Record<string, LanguageEntry>> = {
  en: { name: 'English', locale: 'en-GB', direction: 'ltr', messages: en },
  de: { name: 'Deutsch', locale: 'de', direction: 'ltr', messages: de },
  es: { name: 'Español', locale: 'es', direction: 'ltr', messages: es },
  ar: { name: 'العربية', locale: 'ar-u-nu-latn', direction: 'rtl', messages: ar },
}

export function isBuiltIn(code: string): boolean {
  return Object.hasOwn(BUILT_IN, code)
}

/** Texts of a built-in language, as a template for an overlay. */
export function builtInMessages(code: string): Readonly<Record<string, string>> | null {
  return isBuiltIn(code) ? (BUILT_IN[code]?.messages ?? null) : null
}

export type LanguageChoice = { readonly code: string; readonly name: string }

/** Languages of a service: the built-in ones, and those of its overlays. */
export type Languages = {
  readonly offered: readonly LanguageChoice[]
  wordsFor(code: string): Words
  /** The language chosen before (cookie), else the preferred one of Accept-Language that is available, else English. */
  choose(chosen: string | null, acceptLanguage: string | null): string
  has(code: string | null): code is string
}

export function createLanguages(overlays: readonly Overlay[] = []): Languages {
  const entries = new Map(Object.entries(BUILT_IN))
  for (const { code, messages } of overlays) {
    const base = entries.get(code) ?? furtherLanguage(code)
    entries.set(code, { ...base, messages: { ...base.messages, ...messages } })
  }
  const offered = Array.from(entries, ([code, { name }]) => ({ code, name }))
  const made = new Map<string, Words>()
  const has = (code: string | null): code is string => code !== null && entries.has(code)
  return {
    offered,
    has,
    wordsFor: (code) => {
      const known = made.get(code)
      if (known) return known
      const words = makeWords(code, entries.get(code) ?? ENGLISH, offered)
      made.set(code, words)
      return words
    },
    choose: (chosen, acceptLanguage) => {
      if (has(chosen)) return chosen
      return preferred(acceptLanguage).find(has) ?? 'en'
    },
  }
}

const ENGLISH: LanguageEntry = { name: 'English', locale: 'en-GB', direction: 'ltr', messages: en }

const RIGHT_TO_LEFT: readonly string[] = ['dv', 'fa', 'he', 'ku', 'ps', 'sd', 'ug', 'ur', 'yi']

/** Its own name with a capital letter, as in a menu; Latin digits, as in Arabic. The overlay replaces every text. */
function furtherLanguage(code: string): LanguageEntry {
  const locale = `${code}-u-nu-latn`
  const name = new Intl.DisplayNames([code], { type: 'language' }).of(code) ?? code
  const [first = '', ...rest] = name
  return {
    name: first.toLocaleUpperCase(locale) + rest.join(''),
    locale,
    direction: RIGHT_TO_LEFT.includes(code) ? 'rtl' : 'ltr',
    messages: en,
  }
}

type Mark = (chunks: ComponentChildren) => ComponentChildren

export type Words = {
  readonly language: string
  /** All that the service offers. */
  readonly offered: readonly LanguageChoice[]
  readonly direction: 'ltr' | 'rtl'
  t(key: MessageKey, values?: Readonly<Record<string, string | number>>): string
  /** The same with elements: `<b>…</b>` in the message is passed to the function `b`. */
  rich(key: MessageKey, values: Readonly<Record<string, string | number | Mark>>): ComponentChildren
  /** "15 November 2026": a date in UTC. */
  date(ms: number): string
  /** "15 Nov" and "14:32", both in UTC: for the axis of a chart. */
  shortDate(ms: number): string
  time(ms: number): string
  /** "1,234", and "12k" where there is little room. */
  number(value: number): string
  compact(value: number): string
  /** "12%" */
  percent(share: number): string
  /** "3 minutes ago"; `ms` is the elapsed time. */
  ago(ms: number): string
  /** "15 November 2026 at 14:32 UTC"; the element `local-time` converts it to the browser's time zone. */
  moment(ms: number): string
  /** "A, B and C" */
  list(items: readonly string[]): string
  /** "A, B or C" */
  either(items: readonly string[]): string
}

function makeWords(language: string, entry: LanguageEntry, offered: readonly LanguageChoice[]): Words {
  const { locale, direction, messages } = entry
  const compiled = new Map<MessageKey, IntlMessageFormat>()
  const message = (key: MessageKey): IntlMessageFormat => {
    const known = compiled.get(key)
    if (known) return known
    const format = new IntlMessageFormat(messages[key], locale)
    compiled.set(key, format)
    return format
  }
  const day = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone: 'UTC' })
  const minute = new Intl.DateTimeFormat(locale, {
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    timeZone: 'UTC',
    timeZoneName: 'short',
  })
  const shortDay = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short', timeZone: 'UTC' })
  const clock = new Intl.DateTimeFormat(locale, {
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    timeZone: 'UTC',
  })
  const number = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 })
  const compact = new Intl.NumberFormat(locale, { notation: 'compact' })
  const percent = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 0 })
  const past = new Intl.RelativeTimeFormat(locale, { numeric: 'always' })
  const all = new Intl.ListFormat(locale, { type: 'conjunction' })
  const any = new Intl.ListFormat(locale, { type: 'disjunction' })
  return {
    language,
    offered,
    direction,
    t: (key, values) => String(message(key).format(isolated(direction, values ?? {}))),
    rich: (key, values) => message(key).format<ComponentChildren>(isolated(direction, values)),
    date: (ms) => day.format(ms),
    moment: (ms) => minute.format(ms),
    shortDate: (ms) => shortDay.format(ms),
    time: (ms) => clock.format(ms),
    number: (value) => number.format(value),
    compact: (value) => (value < 10_000 ? number : compact).format(value),
    percent: (share) => percent.format(share),
    ago: (ms) => {
      const { count, unit } = largestUnit(ms)
      return past.format(-count, unit)
    },
    list: (items) => all.format(items),
    either: (items) => any.format(items),
  }
}

const UNITS = [
  { unit: 'day', ms: 86_400_000 },
  { unit: 'hour', ms: 3_600_000 },
  { unit: 'minute', ms: 60_000 },
] as const

/** The largest unit of which at least two have elapsed, or seconds. */
function largestUnit(ms: number): { count: number; unit: 'day' | 'hour' | 'minute' | 'second' } {
  const fits = UNITS.find((each) => ms >= 2 * each.ms)
  return fits
    ? { count: Math.floor(ms / fits.ms), unit: fits.unit }
    : { count: Math.floor(Math.max(0, ms) / 1000), unit: 'second' }
}

const RIGHT_TO_LEFT_OR_CONTROL = /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc]/

/**
 * Isolates values (U+2068, U+2069) in right-to-left text and values with right-to-left or bidi control characters, so
 * that neither a legitimate Arabic name nor one with bidi overrides can reorder the text around it.
 */
function isolated<T>(direction: 'ltr' | 'rtl', values: Readonly<Record<string, T>>): Record<string, T | string> {
  const isolate = (value: T): T | string =>
    typeof value === 'string' && (direction === 'rtl' || RIGHT_TO_LEFT_OR_CONTROL.test(value))
      ? `\u2068${value}\u2069`
      : value
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, isolate(value)]))
}

/** Languages of an Accept-Language header, the preferred one first. */
function preferred(acceptLanguage: string | null): readonly string[] {
  return (acceptLanguage ?? '')
    .split(',')
    .map((part) => {
      const [tag = '', ...parameters] = part.trim().toLowerCase().split(';')
      const weight = parameters.map((text) => /^\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*$/.exec(text)?.[1]).find(Boolean)
      return { language: tag.trim().split('-')[0] ?? '', weight: Number(weight ?? 1) }
    })
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight)
    .map(({ language }) => language)
}

/** The built-in languages, without overlays. */
export const { offered: languages, wordsFor, choose: chooseLanguage } = createLanguages()
