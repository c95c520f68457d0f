/** The tags of a page and nothing else: no text between them, and of attributes only their names. */
export function tagsOf(html: string): string {
  return (html.match(/<[^>]*>/g) ?? []).join('').replace(/"[^"]*"/g, '""')
}
