/** Flows of an application as text, and the URLs of its pages in the developer console. */
import { Titles } from '../ui/facts.tsx'
import type { Words } from '../ui/words.ts'

type WaysProps = { readonly words: Words; readonly code: boolean; readonly dialog: boolean }

export function Ways({ words, code, dialog }: WaysProps) {
  const ways = [code && words.t('developer.by_code'), dialog && words.t('developer.by_dialog')].filter(
    (way) => way !== false,
  )
  const [only] = ways
  if (only === undefined) return words.t('developer.by_nothing')
  return ways.length === 1 ? only : <Titles titles={ways} />
}

export function applicationHref(id: string, page = ''): string {
  return `/developer/application${page}?application=${encodeURIComponent(id)}`
}
