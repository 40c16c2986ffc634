/** Pure: which kinds can be verified, what a report of the provider changes, and when the service polls again. */
import type { BodyOf, FieldError } from '@partner-payments/wire'
import { refuseFields } from '../../kernel/api/index.ts'
import type { IdentityEvidence, IdentityKind, IdentityReport } from '../identity-port/index.ts'
import { after, dayMs, hourMs, minuteMs } from '../../kernel/index.ts'
import { type CustomerType, mainKind } from '../customers/index.ts'
import type { IdentityRow } from './store.ts'

type Create = BodyOf<'createIdentityVerification'>

const possibleKinds: Readonly<Record<CustomerType, readonly IdentityKind[]>> = {
  Individual: ['Document', 'Address'],
  SoleTrader: ['Document', 'Address', 'Company'],
  Business: ['Address', 'Company'],
}

/**
 * Validates a request. Refuses (400) kinds that are not possible for the type of customer, and a return URL that is not
 * `https`.
 */
export function readRequest(
  { kinds, returnUrl }: Create,
  customerType: CustomerType,
  sandbox: boolean,
): { readonly kinds: readonly IdentityKind[]; readonly returnUrl: string | null } {
  const wrong = (kinds ?? []).flatMap((kind, index): readonly FieldError[] =>
    possibleKinds[customerType].includes(kind)
      ? []
      : [
          {
            pointer: `/kinds/${index}`,
            code: 'invalid_value',
            message: `is not possible for a customer of the type ${customerType}`,
          },
        ],
  )
  refuseFields([...wrong, ...returnErrors(returnUrl, sandbox)])
  return { kinds: kinds ?? [mainKind(customerType)], returnUrl: returnUrl ?? null }
}

/** Checks the return URL. The provider's page links to it, so `javascript:` and similar schemes are refused. */
function returnErrors(text: string | undefined, sandbox: boolean): readonly FieldError[] {
  if (text === undefined) return []
  const url = /^https?:\/\/[^\s\p{Cc}\\]+$/iu.test(text) ? URL.parse(text) : null
  const isLocal = sandbox && url?.protocol === 'http:' && ['localhost', '127.0.0.1'].includes(url.hostname)
  if (url !== null && url.username === '' && url.password === '' && (url.protocol === 'https:' || isLocal)) return []
  const message = sandbox ? 'must be an absolute https URL, or http to localhost' : 'must be an absolute https URL'
  return [{ pointer: '/returnUrl', code: 'invalid_format', message }]
}

/** Delays between attempts while the provider does not respond. The last delay repeats. */
const retryDelaysMs = [10_000, minuteMs, 5 * minuteMs, 15 * minuteMs, hourMs] as const
export const retryDelayAfter = (attempts: number): number =>
  retryDelaysMs[Math.min(attempts, retryDelaysMs.length) - 1] ?? hourMs

/** Maximum time without a response, after which the service gives up on a request or a session. */
const patienceMs = dayMs
/** Maximum time in processing. It is long, because people may decide at the provider. */
const processingMsMax = 30 * dayMs
const pollMsMin = minuteMs
const pollMsMax = hourMs

/** Returns when to poll again: after a tenth of the session's age, in case a webhook was lost. */
const nextPoll = ({ createdAt }: Pick<IdentityRow, 'createdAt'>, now: Date): Date =>
  after(now, Math.min(pollMsMax, Math.max(pollMsMin, (now.getTime() - createdAt.getTime()) / 10)))

const idle = (row: IdentityRow, dueAt: Date | null): IdentityRow => ({ ...row, attempts: 0, dueAt })
const isUndecided = ({ status }: Pick<IdentityRow, 'status'>) => status === 'Open' || status === 'Processing'
const lapsed = (row: IdentityRow): IdentityRow => ({ ...row, status: 'Lapsed', attempts: 0, dueAt: null })

/** Returns the end of the day on which the first document expires. Null: no document expires. */
function validityEnd({ documents }: IdentityEvidence): Date | null {
  const days = documents.flatMap(({ expiresOn }) => (expiresOn === null ? [] : [expiresOn]))
  const [first] = days.toSorted()
  return first === undefined ? null : after(new Date(`${first}T00:00:00.000Z`), dayMs)
}

export const expireRow = (row: IdentityRow): IdentityRow => ({ ...row, status: 'Expired', attempts: 0, dueAt: null })

/** Returns when a decided verification is due again: at the end of its validity. */
const dueWhenDecided = ({ status, validUntil, inForce }: IdentityRow): Date | null =>
  inForce && status === 'Approved' ? validUntil : null

/** Applies a report to a row. An older report changes nothing, and only another decision changes a decided row. */
export function applyReport(row: IdentityRow, report: IdentityReport | undefined, now: Date): IdentityRow {
  if (report === undefined) return isUndecided(row) ? lapsed(row) : idle(row, dueWhenDecided(row))
  const isOld = report.version <= row.providerVersion
  if (report.status === 'Approved' || report.status === 'Declined') {
    if (isOld) return idle(row, dueWhenDecided(row))
    const validUntil = report.status === 'Approved' ? validityEnd(report.evidence) : null
    const isOver = validUntil !== null && validUntil <= now
    const reason = report.status === 'Declined' ? report.reason : null
    const decided: IdentityRow = {
      ...{ ...row, status: isOver ? 'Expired' : report.status, reason, validUntil },
      ...{ inForce: true, decidedAt: now, providerVersion: report.version },
    }
    return idle(decided, dueWhenDecided(decided))
  }
  if (!isUndecided(row)) return idle(row, dueWhenDecided(row))
  if (report.status === 'Lapsed') return lapsed(row)
  const next = isOld ? row : { ...row, status: report.status, providerVersion: report.version }
  const endMs = (row.sessionExpiresAt ?? now).getTime() + (next.status === 'Processing' ? processingMsMax : 0)
  return now.getTime() >= endMs ? lapsed(next) : idle(next, nextPoll(row, now))
}

/** Applies a failed call to a row: schedules a retry, or gives up. */
export function applyFailure(row: IdentityRow, now: Date): IdentityRow {
  const attempts = row.attempts + 1
  const since = row.status === 'Pending' ? row.createdAt : row.sessionExpiresAt
  if (since !== null && now.getTime() - since.getTime() > patienceMs) {
    if (row.status === 'Pending') return failRow(row, 'ProviderUnavailable')
    if (isUndecided(row)) return lapsed(row)
    // A decision stays until its document expires.
    if (row.status === 'Lapsed' || !row.inForce) return idle(row, null)
  }
  const retry = after(now, retryDelayAfter(attempts))
  const end = dueWhenDecided(row)
  return { ...row, attempts, dueAt: end !== null && end < retry ? end : retry }
}

export const failRow = (row: IdentityRow, reason: 'RequestRefused' | 'ProviderUnavailable'): IdentityRow => ({
  ...row,
  status: 'Failed',
  reason,
  attempts: 0,
  dueAt: null,
})

export function applyStart(
  row: IdentityRow,
  { providerSession, expiresAt }: { readonly providerSession: string; readonly expiresAt: Date },
  now: Date,
): IdentityRow {
  return idle({ ...row, status: 'Open', providerSession, sessionExpiresAt: expiresAt }, nextPoll(row, now))
}
