/** New names and logos of applications that people know already: they are seen here before anybody else sees them. */
import { Face } from './application-face.tsx'
import { Moment } from './elements.tsx'
import { Fact, Facts } from './facts.tsx'
import { Field } from './field.tsx'
import { Form } from './form.tsx'
import { type Frame, page } from './layout.tsx'
import { MailWaits, Notice, Problems } from './notice.tsx'
import { operatorHref } from './operator-review-line.tsx'
import { type Publisher, PublisherLine } from './publisher.tsx'

export type WaitingFace = {
  readonly id: string
  /** The one that is shown here: what is accepted is what was looked at. */
  readonly version: number
  readonly account: string
  readonly publisher: Publisher
  readonly nameNow: string
  readonly logoNow: string | null
  readonly name: string
  readonly logo: string | null
  readonly since: number
  readonly by: string | null
}

export type OperatorFacesModel = {
  /** The oldest first. */
  readonly faces: readonly WaitingFace[]
  readonly notice: null | 'accepted' | 'declined'
  /** `no_words` is about the application that it names; the others about what has happened meanwhile. */
  readonly problem: null | 'stale' | 'taken' | { readonly noWordsFor: string }
}

type FaceProps = { readonly frame: Frame; readonly face: WaitingFace; readonly wordless: boolean }

const wordsField = (place: number) => `words-${place}`

export function operatorFacesPage(frame: Frame, model: OperatorFacesModel): string {
  const { words } = frame
  const { faces, notice, problem } = model
  const title = words.t('operator.nav_faces')
  const wordless = typeof problem === 'object' && problem !== null ? problem.noWordsFor : null
  const place = faces.findIndex(({ id }) => id === wordless)
  return page(
    frame,
    title,
    <>
      {wordless !== null && place !== -1 && (
        <Problems words={words} problems={[{ field: wordsField(place), text: words.t('operator.face_no_words') }]} />
      )}
      {typeof problem === 'string' && <Notice kind="warning">{words.t(`operator.face_${problem}`)}</Notice>}
      {notice && !problem && (
        <Notice kind="success">
          {words.t(`operator.face_${notice}`)}
          <MailWaits frame={frame} />
        </Notice>
      )}
      <header class="stack tight">
        <h1>{title}</h1>
        <p class="soft">{words.t('operator.faces_text')}</p>
      </header>
      {faces.length === 0 && <p>{words.t('operator.faces_none')}</p>}
      {faces.map((face, at) => (
        <Proposed frame={frame} face={face} wordless={face.id === wordless} place={at} key={face.id} />
      ))}
    </>,
    { wide: true, problem: problem !== null },
  )
}

function Proposed({ frame, face, wordless, place }: FaceProps & { readonly place: number }) {
  const { words } = frame
  const bound = { application: face.id, version: String(face.version) }
  return (
    <section class="card stack" aria-labelledby={`face-${place}`}>
      <h2 id={`face-${place}`}>
        <a href={operatorHref(face.id)}>
          <bdi>{face.nameNow}</bdi>
        </a>
      </h2>
      <PublisherLine words={words} publisher={face.publisher} />
      <Facts>
        <Fact name={words.t('operator.face_now')}>
          <Named name={face.nameNow} logo={face.logoNow} />
        </Fact>
        <Fact name={words.t('operator.face_new')}>
          <Named name={face.name} logo={face.logo} />
        </Fact>
        <Fact name={words.t('operator.face_by')}>
          <bdi>{face.by ?? face.account}</bdi>
        </Fact>
        <Fact name={words.t('proposal.since')}>
          <Moment words={words} ms={face.since} />
        </Fact>
      </Facts>
      <Form frame={frame} action="/operator/faces/accept" bound={bound}>
        <button type="submit" class="button">
          {words.t('operator.face_accept')}
        </button>
      </Form>
      <Form frame={frame} action="/operator/faces/decline" bound={bound} class="stack">
        <Field
          id={wordsField(place)}
          name="words"
          label={words.t('operator.face_words')}
          hint={words.t('operator.face_words_hint')}
          problem={wordless ? words.t('operator.face_no_words') : null}
          value=""
        />
        <p>
          <button type="submit" class="button quiet">
            {words.t('operator.face_decline')}
          </button>
        </p>
      </Form>
    </section>
  )
}

function Named({ name, logo }: { readonly name: string; readonly logo: string | null }) {
  return (
    <div class="named">
      <Face name={name} logo={logo} />
      <bdi>{name}</bdi>
    </div>
  )
}
