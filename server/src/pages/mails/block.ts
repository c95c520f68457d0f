/** Building block of a mail: a sentence, a link, or a list of facts. */

export type Block =
  | { readonly says: string }
  | { readonly link: string; readonly label: string }
  | { readonly facts: readonly (readonly [string, string | null])[] }
