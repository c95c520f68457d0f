/** Developers and applications of rig/scenes/thirty-days.ts, and how much each is used. */

/** Slug, name and the domain if verified. */
export const PUBLISHERS: readonly (readonly [slug: string, name: string, domain?: string])[] = [
  ['brightframe', 'Brightframe Displays', 'brightframe.example'],
  ['lumen-works', 'Lumen Works', 'lumen.example'],
  ['tillhouse', 'Tillhouse', 'tillhouse.example'],
  ['parcelwise', 'Parcelwise', 'parcelwise.example'],
  ['greenfield', 'Greenfield Robotics', 'greenfield.example'],
  ['harbour', 'Harbour Software', 'harbour.example'],
  ['studio-nine', 'Studio Nine'],
  ['kestrel', 'Kestrel Analytics', 'kestrel.example'],
  ['openshelf', 'Openshelf', 'openshelf.example'],
  ['marble', 'Marble Signage'],
  ['northlight', 'Northlight Media', 'northlight.example'],
  ['tandem', 'Tandem Tools', 'tandem.example'],
  ['quickservice', 'Quick Service Desk'],
  ['ridgeway', 'Ridgeway Systems', 'ridgeway.example'],
  ['blue-heron', 'Blue Heron', 'blueheron.example'],
]

export type Habit = {
  /** Codes requested on an average day. */
  readonly perDay: number
  /** Age in days; thirty by default. */
  readonly days?: number
  /** Share of them that is entered; of these, the shares granted and rejected. */
  readonly entered: number
  readonly granted: number
  readonly rejected: number
  /** Poll rate divided by the allowed one. */
  readonly factor: number
}

const usual = (perDay: number, factor = 1): Habit => ({ perDay, entered: 0.7, granted: 0.9, rejected: 0.04, factor })

/** The thirteenth has no verified publisher. */
export const APPLICATIONS: Readonly<Record<string, Habit>> = {
  'Brightframe Player': usual(70),
  'Lumen Wall': usual(22),
  'Tillhouse Kiosk': usual(40),
  'Parcelwise Scanner': usual(31),
  'Greenfield Picker': usual(9, 1.02),
  'Harbour Backup': usual(6),
  'Nine Posters': usual(4),
  'Kestrel Reports': usual(14),
  'Openshelf Counter': usual(18),
  'Marble Screens': usual(12, 1.6),
  'Northlight Cinema': usual(7),
  'Tandem Command Line': usual(26),
  'Account Security Update': { perDay: 420, days: 2, entered: 0.21, granted: 0.08, rejected: 0.3, factor: 1 },
  'Ridgeway Gate': usual(5),
  'Heron Tablet': usual(11),
  'Brightframe Studio': usual(8),
  'Lumen Lobby': usual(5),
  'Tillhouse Handheld': usual(16, 1.03),
  'Parcelwise Locker': usual(13),
  'Greenfield Weigher': usual(3),
  'Harbour Sync': usual(10),
  'Nine Menus': usual(6),
  'Kestrel Board': usual(9),
  'Openshelf Labels': usual(7, 1.2),
  'Marble Queue': usual(4),
  'Northlight Radio': usual(3),
  'Tandem Notifier': usual(5),
  'Desk Display': usual(6),
  'Ridgeway Parking': usual(4),
  'Heron Checklists': usual(8),
  'Brightframe Remote': usual(5),
  'Lumen Atrium': usual(2),
  'Tillhouse Reports': usual(4),
  'Parcelwise Driver': usual(15),
  'Greenfield Sorter': usual(2),
  'Harbour Monitor': usual(3),
  'Nine Stage': usual(2),
  'Kestrel Export': usual(3),
  'Openshelf Returns': usual(5),
  'Marble Menu': usual(3),
}
