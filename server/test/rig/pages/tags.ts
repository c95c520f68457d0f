/** The tags of a page with the names of their attributes: no text and no values. */
export function tagsOf(html: string): string {
  return (html.match(/<[^>]*>/g) ?? []).join('').replace(/"[^"]*"/g, '""')
}
