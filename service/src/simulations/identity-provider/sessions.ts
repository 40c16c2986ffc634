/** The sessions of the simulated provider, and what each outcome makes of one. Kept in a file of lines, the last one of a session counts. */
import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { ownJson } from '@partner-payments/wire'
import { after, type Clock, dayMs, randomToken } from '../../kernel/index.ts'

/** The choices of the page. */
export const outcomes = ['approve', 'expiring', 'processing', 'mismatch', 'forged', 'unreadable', 'leave'] as const
export type SimulatedOutcome = (typeof outcomes)[number]

export type Session = {
  /** Names the session, and is the credential of its page. */
  readonly session: string
  readonly reference: string
  readonly kinds: readonly string[]
  readonly subject: Readonly<Record<string, string>>
  readonly returnUrl: string | null
  readonly webhookUrl: string
  readonly expiresAt: string
  readonly version: number
  readonly status: 'Open' | 'Processing' | 'Approved' | 'Declined' | 'Lapsed'
  readonly reason?: string
  readonly evidence?: object
}

const sessionMs = 7 * dayMs
/** A session is kept so long after its end. Then the values of the person go with it, at the next start. */
const keptMs = 90 * dayMs
const documentYears = 5
/** Older ones are forgotten, as of a provider that keeps sessions for a time. */
const sessionsMax = 10_000

const documentOf: Readonly<Record<string, string>> = {
  Document: 'Passport',
  Address: 'ProofOfAddress',
  Company: 'RegisterExtract',
}

/** `file`: undefined keeps the sessions in memory only. */
export function createSessions({ clock, file }: { readonly clock: Clock; readonly file: string | undefined }) {
  const byId = new Map<string, Session>()
  const byReference = new Map<string, string>()
  const remember = (session: Session) => {
    byId.set(session.session, session)
    byReference.set(session.reference, session.session)
    const [oldest] = byId.values()
    if (byId.size > sessionsMax && oldest !== undefined) {
      byId.delete(oldest.session)
      byReference.delete(oldest.reference)
    }
  }
  for (const session of readLines(file)) if (after(new Date(session.expiresAt), keptMs) > clock.now()) remember(session)
  if (file !== undefined && existsSync(file)) replaceLines(file, [...byId.values()])
  const put = (session: Session): Session => {
    if (file !== undefined) appendFileSync(file, `${JSON.stringify(session)}\n`, { mode: 0o600 })
    remember(session)
    return session
  }
  return {
    find: (id: string): Session | undefined => byId.get(id),
    /** A repeated reference finds its session. */
    start: (request: Pick<Session, 'reference' | 'kinds' | 'subject' | 'returnUrl' | 'webhookUrl'>): Session => {
      const known = byId.get(byReference.get(request.reference) ?? '')
      if (known !== undefined) return known
      const expiresAt = after(clock.now(), sessionMs).toISOString()
      return put({ ...request, session: randomToken(), expiresAt, version: 1, status: 'Open' })
    },
    /** Erases the session of a reference, if there is one, also from the file. */
    erase: (reference: string): void => {
      byId.delete(byReference.get(reference) ?? '')
      byReference.delete(reference)
      if (file !== undefined) replaceLines(file, [...byId.values()])
    },
    /** Undefined: the session is not one that can still be decided. */
    decide: (id: string, outcome: SimulatedOutcome): Session | undefined => {
      const session = byId.get(id)
      if (session === undefined || (session.status !== 'Open' && session.status !== 'Processing')) return undefined
      return put({ ...session, version: session.version + 1, ...resultOf(session, outcome, clock.now()) })
    },
  }
}

/** Writes a file of these lines only. A process that dies meanwhile leaves the file before. */
function replaceLines(file: string, sessions: readonly Session[]): void {
  const next = `${file}.next`
  writeFileSync(next, sessions.map((session) => `${JSON.stringify(session)}\n`).join(''), { mode: 0o600 })
  renameSync(next, file)
}

/** A line that a dying process has written in part is left out. */
function readLines(file: string | undefined): readonly Session[] {
  if (file === undefined || !existsSync(file)) return []
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line) => {
      try {
        return line === '' ? [] : [ownJson<Session>(line)]
      } catch {
        return []
      }
    })
}

function resultOf(session: Session, outcome: SimulatedOutcome, now: Date): Partial<Session> {
  if (outcome === 'processing') return { status: 'Processing' }
  if (outcome === 'leave') return { status: 'Lapsed' }
  const evidence = evidenceOf(session, outcome, now)
  if (outcome === 'approve' || outcome === 'expiring') return { status: 'Approved', evidence }
  const reason = { mismatch: 'DataMismatch', forged: 'DocumentForged', unreadable: 'DocumentUnreadable' }[outcome]
  return { status: 'Declined', reason, evidence }
}

function evidenceOf({ session, kinds, subject }: Session, outcome: SimulatedOutcome, now: Date) {
  const today = now.toISOString().slice(0, 10)
  const lastDay = `${Number(today.slice(0, 4)) + documentYears}${today.slice(4)}`.replace('-02-29', '-02-28')
  const fields = outcome === 'unreadable' ? [] : Object.keys(subject)
  const wrong = outcome === 'mismatch' ? (fields.find((field) => field.endsWith('Name')) ?? fields[0]) : undefined
  return {
    providerReference: `SIM-${session.slice(0, 12)}`,
    documents: kinds.map((kind) => ({
      type: documentOf[kind],
      ...(subject['citizenshipCountryCode'] === undefined || kind !== 'Document'
        ? {}
        : { issuingCountry: subject['citizenshipCountryCode'] }),
      ...(kind === 'Document' ? { expiresOn: outcome === 'expiring' ? today : lastDay } : {}),
    })),
    fields: fields.map((field) => ({ field, outcome: field === wrong ? 'Mismatched' : 'Matched' })),
  }
}
