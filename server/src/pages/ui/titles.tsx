/** List of scope titles, one per line. */

export function Titles({ titles }: { readonly titles: readonly string[] }) {
  return (
    <ul class="titles">
      {titles.map((title) => (
        <li key={title}>{title}</li>
      ))}
    </ul>
  )
}
