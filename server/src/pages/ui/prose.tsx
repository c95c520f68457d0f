/** Documentation text: paragraphs separated by an empty line, and `code` between backticks. No other mark-up. */

export function Prose({ text }: { readonly text: string }) {
  return text.split('\n\n').map((paragraph) => (
    <p key={paragraph}>
      <Inline text={paragraph} />
    </p>
  ))
}

/** Text within a line. */
export function Inline({ text }: { readonly text: string }) {
  return text.split('`').map((piece, index) =>
    index % 2 === 1 ? (
      <code class="technical" key={`${index}${piece}`}>
        {piece}
      </code>
    ) : (
      piece
    ),
  )
}
