/** Charts of an application's polling and funnel, for the operator who reviews it. */
import type { Series } from '../../core/reviews/review.ts'
import { Buckets, ChartFigure, Days, Steps } from '../ui/chart.tsx'
import type { Words } from '../ui/words.ts'

const FIVE_MINUTES = 5 * 60 * 1000

type ChartsProps = { readonly words: Words; readonly series: Series }

export function ApplicationCharts({ words, series }: ChartsProps) {
  return (
    <section class="card stack" aria-labelledby="figures">
      <h2 id="figures">{words.t('operator.figures')}</h2>
      <p class="soft">{words.t('operator.figures_text')}</p>
      <div class="charts">
        <Polls words={words} series={series} />
        <SlowDowns words={words} series={series} />
        <Funnel words={words} series={series} />
        <Origins words={words} series={series} />
        <NewUsers words={words} series={series} />
      </div>
    </section>
  )
}

function Polls({ words, series: { minutes } }: ChartsProps) {
  const busy = minutes.some(({ polls }) => polls > 0)
  const number = words.number
  const sum = (of: (each: Series['minutes'][number]) => number) => minutes.reduce((total, each) => total + of(each), 0)
  return (
    <ChartFigure
      words={words}
      id="chart-polls"
      wide
      title={words.t('operator.chart_polls')}
      about={words.t('operator.chart_polls_about', {
        polls: sum(({ polls }) => polls),
        allowed: Math.round(sum(({ allowed }) => allowed)),
        early: sum(({ early }) => early),
      })}
      keys={[
        { tone: 'first', text: words.t('operator.head_polls') },
        { tone: 'second', text: words.t('operator.head_early') },
        { tone: 'limit', text: words.t('operator.head_allowed') },
      ]}
      picture={
        busy ? (
          <Buckets
            words={words}
            buckets={minutes.map(({ at, polls, early, allowed }) => ({ at, values: [polls, early, allowed] }))}
            step={FIVE_MINUTES}
            tones={['first', 'second', 'limit']}
          />
        ) : null
      }
      nothing={words.t('operator.chart_polls_none')}
      table={{
        head: heads(words, 'time', 'polls', 'early', 'allowed'),
        rows: minutes.map(({ at, polls, early, allowed }) => [
          words.time(at),
          number(polls),
          number(early),
          number(Math.round(allowed)),
        ]),
      }}
    />
  )
}

function SlowDowns({ words, series: { minutes } }: ChartsProps) {
  const shares = minutes.map(({ at, polls, early }) => ({ at, share: polls === 0 ? 0 : Math.min(1, early / polls) }))
  const max = Math.max(0, ...shares.map(({ share }) => share))
  return (
    <ChartFigure
      words={words}
      id="chart-slow-down"
      title={words.t('operator.chart_slow_down')}
      about={words.t('operator.chart_slow_down_about', { max })}
      picture={
        minutes.some(({ polls }) => polls > 0) ? (
          <Buckets
            words={words}
            buckets={shares.map(({ at, share }) => ({ at, values: [share] }))}
            step={FIVE_MINUTES}
            tones={['second']}
            share
          />
        ) : null
      }
      nothing={words.t('operator.chart_polls_none')}
      table={{
        head: heads(words, 'time', 'share'),
        rows: shares.map(({ at, share }) => [words.time(at), words.percent(share)]),
      }}
    />
  )
}

function Funnel({ words, series: { days } }: ChartsProps) {
  const sum = (of: 'requested' | 'entered' | 'granted' | 'rejected') =>
    days.reduce((total, each) => total + each[of], 0)
  const [requested, entered, granted, rejected] = [sum('requested'), sum('entered'), sum('granted'), sum('rejected')]
  // Clamped: the figures come from different counters, and a lost count of requests must not make this negative.
  const open = Math.max(0, requested - granted - rejected)
  const steps = [
    { text: words.t('activity.step_requested'), value: requested },
    { text: words.t('activity.step_entered'), value: entered },
    { text: words.t('activity.step_granted'), value: granted },
    { text: words.t('activity.step_rejected'), value: rejected },
    { text: words.t('activity.step_open'), value: open },
  ]
  return (
    <ChartFigure
      words={words}
      id="chart-funnel"
      title={words.t('operator.chart_funnel')}
      about={words.t('operator.chart_funnel_about', { requested, entered, granted, rejected })}
      picture={requested > 0 ? <Steps words={words} steps={steps} /> : null}
      nothing={words.t('operator.chart_funnel_none')}
      tall
      table={{
        head: heads(words, 'step', 'codes', 'share'),
        rows: steps.map(({ text, value }) => [
          text,
          words.number(value),
          requested > 0 ? words.percent(Math.min(1, value / requested)) : '',
        ]),
      }}
    />
  )
}

function Origins({ words, series: { days } }: ChartsProps) {
  const max = (of: 'networks' | 'countries') => Math.max(0, ...days.map((each) => each[of]))
  const [networks, countries] = [max('networks'), max('countries')]
  return (
    <ChartFigure
      words={words}
      id="chart-origins"
      title={words.t('operator.chart_origins')}
      about={words.t('operator.chart_origins_about', { networks, countries })}
      keys={[
        { tone: 'first', text: words.t('operator.head_networks') },
        { tone: 'second', text: words.t('operator.head_countries') },
      ]}
      picture={
        networks + countries > 0 ? (
          <Days
            words={words}
            days={days.map((each) => ({ at: each.day, values: [each.networks, each.countries] }))}
            tones={['first', 'second']}
          />
        ) : null
      }
      nothing={words.t('operator.chart_origins_none')}
      table={{
        head: heads(words, 'day', 'networks', 'countries'),
        rows: days.map((each) => [words.date(each.day), words.number(each.networks), words.number(each.countries)]),
      }}
    />
  )
}

function NewUsers({ words, series: { days } }: ChartsProps) {
  const users = days.reduce((total, { newUsers }) => total + newUsers, 0)
  return (
    <ChartFigure
      words={words}
      id="chart-users"
      title={words.t('operator.chart_users')}
      about={words.t('operator.chart_users_about', { users })}
      picture={
        users > 0 ? (
          <Days
            words={words}
            days={days.map(({ day, newUsers }) => ({ at: day, values: [newUsers] }))}
            tones={['first']}
          />
        ) : null
      }
      nothing={words.t('operator.chart_users_none')}
      table={{
        head: heads(words, 'day', 'users'),
        rows: days.map(({ day, newUsers }) => [words.date(day), words.number(newUsers)]),
      }}
    />
  )
}

type Head =
  | 'time'
  | 'day'
  | 'step'
  | 'polls'
  | 'early'
  | 'allowed'
  | 'share'
  | 'codes'
  | 'networks'
  | 'countries'
  | 'users'

function heads(words: Words, ...names: readonly Head[]): readonly string[] {
  return names.map((name) => words.t(`operator.head_${name}`))
}
