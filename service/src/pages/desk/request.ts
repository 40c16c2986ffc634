/** Code that the routes of the desk share: the view of a request, and the staff member who is signed in. */
import {
  notFound,
  type PublicAnswer,
  type PublicRequest,
  type PublicRoute,
  readCookie,
  Refusal,
  staffCookie,
} from '../../kernel/api/index.ts'
import type { Cases, Decisions } from '../../cases/index.ts'
import type { Access } from '../../access/index.ts'
import type { Accounts } from '../../accounts/index.ts'
import type { Beneficiaries } from '../../parties/beneficiaries/index.ts'
import type { Customers } from '../../parties/customers/index.ts'
import type { Deposits } from '../../deposits/index.ts'
import type { IdentityChecks } from '../../parties/identity-checks/index.ts'
import type { Ledger } from '../../ledger/index.ts'
import type { Monitoring } from '../../monitoring/index.ts'
import type { Payouts } from '../../payouts/index.ts'
import type { Brand } from '../../branding/index.ts'
import type { Inbox } from '../../inbox/index.ts'
import { type Clock, type Log, uuidPattern } from '../../kernel/index.ts'
import type { BankFile, BankFiles, ConnectorState } from '../../rails/index.ts'
import type { Reconciliation } from '../../cases/reconciliation/index.ts'
import type { DecisionStatistics } from '../../reports/decisions/index.ts'
import type { Safeguarding } from '../../reports/safeguarding/index.ts'
import type { SignedInStaff, Staff, StaffRole, QueueItemKey, WaitingItem } from '../../people/staff/index.ts'
import type { Members } from '../../people/users/index.ts'
import type { FindHold, Transactions } from '../../transactions/index.ts'
import type { DeliveryEngine } from '../../webhooks/index.ts'
import type { Database, Tx } from '../../postgres/index.ts'
import type { Assets } from '../assets.ts'
import { html, type Html } from '../html.ts'
import type { ConsoleLanguage } from '../kit/language.ts'
import { readPreferences } from '../kit/preferences.ts'
import { type FieldReader, pathWithQuery, safeNextPath, seeOther } from '../kit/request.ts'
import type { ConsoleView } from '../kit/frame.ts'
import type { Screener, Screening } from '../../screening/index.ts'
import { deskTexts } from './texts.ts'

/** An option of a command, described for a form. */
export type FormOption = {
  readonly name: string
  readonly kind: string
  readonly required: boolean
  /** The default value. Undefined if there is none. */
  readonly otherwise: string | undefined
  /** The allowed values. Undefined for free text. */
  readonly values: readonly string[] | undefined
  readonly isList: boolean
  readonly charsMax: number
}

/** Runs commands for the desk, and decides changes that await a second person. An approval carries out the command. */
export type DeskChanges = {
  readonly mayDecide: (command: string, role: StaffRole) => boolean
  /** The options of a command's form: all except the person, the note and files. */
  readonly form: (command: string) => readonly FormOption[]
  /**
   * Describes a command that changes something and needs no file. `cuts`: it removes access. `secret`: the page shows
   * its result once.
   */
  readonly act: (command: string) => { readonly cuts: boolean; readonly secret: boolean } | undefined
  /** Approves a change. Refuses as the command, and: not_found, validation_failed, permission_denied. */
  readonly approve: (by: SignedInStaff['account'], id: string) => Promise<unknown>
  /** Carries out an approved change for its author, and returns its result. Refuses as the command, and: not_found, permission_denied. */
  readonly carryOut: (by: SignedInStaff['account'], id: string) => Promise<object>
  /**
   * Runs a command of the operator for the person, with its options as typed. `waits`: the id of the change, if another
   * person must approve it first. Refuses as the command, and: validation_failed (the role, an option).
   */
  readonly run: (
    by: SignedInStaff['account'],
    command: string,
    options: Readonly<Record<string, string>>,
  ) => Promise<{ readonly waits?: string; readonly result?: object }>
  /** Runs a command that only reads. Refuses as the command. */
  readonly read: (command: string, options: Readonly<Record<string, string>>) => Promise<object>
  /** Rejects a change. Refuses: not_found, validation_failed, permission_denied. */
  readonly reject: (by: SignedInStaff['account'], id: string, note: string) => Promise<void>
}

export type PartnerRow = { readonly id: string; readonly name: string; readonly createdAt: Date }

type Runbooks = {
  /** `name`: such as `bank-files` or `alerts/PaymentsCaseOpen`. Undefined if no runbook has it. */
  readonly find: (
    name: string,
  ) => Promise<{ readonly title: string; readonly body: Html; readonly commands: readonly string[] } | undefined>
}

/** Status of a bank or chain: how it responds, what is pending for it, and its last files. */
export type ConnectorStatus = {
  readonly id: string
  readonly byFiles: boolean
  readonly state: ConnectorState
  /** The time since which the oldest of each kind is pending. Null: none is pending. */
  readonly waits: Readonly<Record<'notification' | 'payout' | 'recall' | 'file', Date | null>>
  readonly files: Readonly<Record<'received' | 'sent' | 'aside', BankFile | null>>
  /** The problem with the connector. Undefined if it works. */
  readonly trouble: 'heldBack' | 'failing' | 'file' | 'notification' | 'payout' | undefined
  readonly troubleSince: Date | null
}

export type DeskDeps = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly staff: Staff
  readonly inbox: Pick<Inbox, 'choices' | 'choose'>
  readonly cases: Pick<
    Cases,
    'list' | 'byId' | 'byIds' | 'countsOpen' | 'openAbout' | 'openOf' | 'about' | 'lastRemarks'
  >
  readonly decisions: Pick<Decisions, 'decidedKind' | 'history'>
  readonly screening: Pick<
    Screening,
    'about' | 'openHits' | 'equalHits' | 'hitsOn' | 'openHitsOf' | 'hit' | 'decisionsOf' | 'lists'
  >
  readonly screener: Pick<Screener, 'viewOf'>
  readonly bankFiles: BankFiles
  readonly monitoring: Pick<
    Monitoring,
    'newestAlerts' | 'rules' | 'payoutStanding' | 'waitingPayouts' | 'holdingAlerts'
  >
  readonly reconciliation: Pick<Reconciliation, 'report' | 'accounts' | 'days' | 'candidates'>
  readonly safeguarding: Pick<Safeguarding, 'list' | 'versions'>
  readonly customers: Pick<
    Customers,
    'capabilities' | 'find' | 'get' | 'resolveId' | 'findIds' | 'list' | 'payersByIds' | 'usersByIds'
  > & {
    readonly reviews: Pick<Customers['reviews'], 'missing' | 'of' | 'overduePage'>
  }
  readonly access: Pick<Access, 'isClosed' | 'namesOf' | 'partnerNames'>
  readonly accounts: Pick<Accounts, 'holdersOf' | 'ibansOf' | 'stateChanges'>
  readonly beneficiaries: Pick<
    Beneficiaries,
    'byAlias' | 'list' | 'named' | 'verificationOf' | 'withAccount' | 'withIds'
  >
  readonly deposits: Pick<Deposits, 'byReferences'>
  readonly identityChecks: Pick<IdentityChecks, 'list'>
  readonly ledger: Pick<Ledger, 'partySumsAt'>
  readonly members: Pick<Members, 'listUsers'>
  readonly numbers: DecisionStatistics
  readonly transactions: Pick<Transactions, 'list' | 'related' | 'withUsers'>
  readonly webhooks: Pick<DeliveryEngine, 'list'>
  /** Finds why a payment is on hold. */
  readonly holdOf: FindHold
  /** Reads the items other than cases that await a person, and the status of the connectors. */
  readonly waiting: {
    readonly look: () => Promise<readonly WaitingItem[]>
    readonly of: (keys: readonly QueueItemKey[]) => Promise<readonly WaitingItem[]>
    readonly connectors: () => Promise<readonly ConnectorStatus[]>
  }
  readonly runbooks: Runbooks
  readonly payouts: Pick<Payouts, 'decisionsOf' | 'find' | 'get' | 'list'>
  readonly changes: DeskChanges
  readonly partners: {
    readonly byId: (tx: Tx, id: string) => Promise<PartnerRow | undefined>
    /** Newest first, older than the cursor. */
    readonly page: (tx: Tx, afterId: string | null, rowsMax: number) => Promise<readonly PartnerRow[]>
  }
  readonly sandbox: boolean
  readonly brand: Brand
}

/** Dependencies of the desk, and the file names of its assets. */
export type DeskFrame = Omit<DeskDeps, 'brand'> & Pick<Assets, 'css' | 'js' | 'brand'>

export function viewOf({ sandbox, css, js, brand }: DeskFrame, request: PublicRequest): ConsoleView {
  const root = '../'.repeat(Math.max(0, request.path.split('/').length - 3))
  return { ...readPreferences(request, root), sandbox, root, css, js, brand }
}

export type Person = { readonly signed: SignedInStaff; readonly view: ConsoleView }

/** Icons of the navigation, in page order. */
const icons = {
  queue: 'M3 5.5h14M3 10h14M3 14.5h14',
  find: 'M8.5 14a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11zM12.5 12.5 17.5 17.5',
  hits: 'M9 15a6 6 0 1 0 0-12 6 6 0 0 0 0 12zM13.5 13.5 17.5 17.5M6.5 9l2 2 3-3.5',
  connectors: 'M6 3v4M10 3v4M4 7h8v3a4 4 0 0 1-8 0zM8 14v3h8v-6',
  files: 'M5 2.5h6.5L15.5 6.5v11H5zM11.5 2.5v4h4M8 10.5h4.5M8 13.5h4.5',
  reconciliation: 'M10 3v14M6 17h8M3.5 6.5h13M3.5 6.5l-1.5 5h4zM16.5 6.5l-2 5h4z',
  safeguarding: 'M10 2.5 16.5 5v5c0 4-3 6.5-6.5 7.5C6.5 16.5 3.5 14 3.5 10V5zM7 10l2.2 2.2L13 8.5',
  numbers: 'M3.5 16.5h13M5.5 14V9.5M9 14V5M12.5 14v-6M16 14V3.5',
  reviews: 'M4 4.5h12v12H4zM4 8h12M7.5 2.5v4M12.5 2.5v4M7.5 12l2 2 3.5-3.5',
  rules: 'M3 15.5l4-5 3 3 6.5-8M12.5 5.5h4v4',
  countries: 'M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM3 10h14M10 3c-4.5 4.5-4.5 9.5 0 14M10 3c4.5 4.5 4.5 9.5 0 14',
  partners: 'M3 16.5V7l5-3.5v13M8 16.5V8.5h9v8M11 11.5h3M11 14h3M2 16.5h16',
  changes: 'M4 6.5h10M11 3.5l3 3-3 3M16 13.5H6M9 10.5l-3 3 3 3',
  staff:
    'M7.5 9.5a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2.5 16.5c0-3 2-5 5-5s5 2 5 5M13 4a3 3 0 0 1 0 5.5M14.5 12c2 .6 3 2.3 3 4.5',
  notifications: 'M5 14V9a5 5 0 0 1 10 0v5l1.5 1.5h-13zM8.5 17.5h3',
  device: 'M3 4.5h14v11H3zM6 8l2.5 2L6 12M10 12.5h4',
} as const
export type DeskPlace = keyof typeof icons

/** Reports whether a page is hidden from a role. Support does not see the figures of decisions. */
const isHidden = (place: DeskPlace, role: StaffRole): boolean => place === 'numbers' && role === 'support'

function navigationPlaces(language: ConsoleLanguage, role: StaffRole): NonNullable<ConsoleView['places']> {
  const d = deskTexts[language]
  const names: Readonly<Record<DeskPlace, string>> = {
    queue: d.queue.queue,
    find: d.find.title,
    hits: d.hits.hits,
    connectors: d.connectors.connectors,
    files: d.files.files,
    reconciliation: d.reconciliation.title,
    safeguarding: d.safeguarding.days,
    numbers: d.numbers.numbers,
    reviews: d.reviews.reviews,
    rules: d.rules.rules,
    countries: d.countries.countries,
    partners: d.partners.partners,
    changes: d.commands.changes,
    staff: d.staff.staff,
    notifications: d.notifications.title,
    device: d.commands.commands,
  }
  return (Object.keys(icons) as DeskPlace[])
    .filter((name) => !isHidden(name, role))
    .map((name) => ({ name, text: names[name], icon: icons[name] }))
}

/** Responds to a signed-in staff member. Without a session, redirects to the sign-in. */
export async function withStaff(
  frame: DeskFrame,
  request: PublicRequest,
  current: DeskPlace,
  answer: (person: Person) => PublicAnswer | Promise<PublicAnswer>,
): Promise<PublicAnswer> {
  const token = readCookie(request.headers['cookie'], staffCookie)
  const signed = token === undefined ? undefined : await frame.staff.signedIn(token)
  const view = viewOf(frame, request)
  if (signed === undefined) return redirectToSignIn(view, request)
  const d = deskTexts[view.language].queue
  const { fullName, email, role } = signed.account
  const person = { fullName, email, roleName: html`${d[role]}`, partnerName: d.desk }
  return answer({ signed, view: { ...view, person, places: navigationPlaces(view.language, role), current } })
}

/** Redirects to the sign-in, and from there back to the page. A submitted form is lost. */
export function redirectToSignIn({ root }: ConsoleView, { path, query, body }: PublicRequest): PublicAnswer {
  const asked = path.slice('/desk/'.length) + (query === '' ? '' : `?${query}`)
  const next = safeNextPath(body.length === 0 ? asked : undefined)
  return seeOther(next === 'home' ? `${root}sign-in` : pathWithQuery(`${root}sign-in`, { next }))
}

/**
 * Creates a route for staff members. `current`: the place of its page in the navigation. Someone else may be using a
 * session that has rested, so a form leads to the sign-in. `alsoRested`: a form that only ends access.
 */
export const staffRoute = (
  frame: DeskFrame,
  current: DeskPlace,
  method: 'GET' | 'POST',
  path: string,
  act: (request: PublicRequest, person: Person) => PublicAnswer | Promise<PublicAnswer>,
  { alsoRested = false }: { readonly alsoRested?: boolean } = {},
): PublicRoute => ({
  method,
  path: `/desk${path}`,
  handle: (request) =>
    withStaff(frame, request, current, (person) =>
      method === 'POST' && person.signed.session.rested && !alsoRested
        ? seeOther(`${person.view.root}sign-in`)
        : act(request, person),
    ),
})

const attributes = 'Path=/; Secure; HttpOnly; SameSite=Strict'
export const staffCookieOf = (token: string): string => `${staffCookie}=${token}; ${attributes}`
export const clearedStaffCookie = `${staffCookie}=; ${attributes}; Max-Age=0`

/** Reads the partner id and the id in the path. Refuses: not_found. */
export const readKey = ({ params }: PublicRequest) => {
  const { partnerId = '', id = '' } = params
  if (!uuidPattern.test(partnerId) || !uuidPattern.test(id)) throw notFound('page')
  return { partnerId, id }
}

/** Reads the cursor: the last row of the previous page. Undefined on the first page. */
export function readCursor({ query }: PublicRequest): { readonly openedAt: Date; readonly id: string } | undefined {
  const fields = new URLSearchParams(query)
  const [openedAt, id] = [new Date(fields.get('at') ?? ''), fields.get('after') ?? '']
  return uuidPattern.test(id) && !Number.isNaN(openedAt.getTime()) ? { openedAt, id } : undefined
}

/** Reads the id of a person. Null if it is empty. Refuses: validation_failed. */
export function readPersonId(text: string): string | null {
  if (text !== '' && !uuidPattern.test(text)) throw new Refusal('validation_failed', 'Choose a staff member.')
  return text === '' ? null : text
}

export class FieldRefusal extends Refusal {
  readonly field: string

  constructor(field: string, detail: string) {
    super('validation_failed', detail)
    this.field = field
  }
}

/** Reads the note of a form. Refuses: validation_failed. */
export function readNote(given: FieldReader): string {
  const note = given('note').trim()
  if (note === '' || note.length > noteCharsMax)
    throw new FieldRefusal('note', 'A note of 1 to 500 characters is required.')
  return note
}
export const noteCharsMax = 500
