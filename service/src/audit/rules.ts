/** Pure: classifies records as acts, reads and requests, and finds their subjects. */
import { type Operation, type OperationId, operations, type RecordKind } from '@partner-payments/wire'

/** Acts in a partner's log besides operations of the API and declared commands. The console names each in words (`serviceActs`). */
export type ServiceAct =
  | 'acceptInvitation'
  | 'cancelRecovery'
  | 'changeRole'
  | 'changeSignIn'
  | 'confirmSingleSignOn'
  | 'customer.erased'
  | 'customer.identity_erasure_refused'
  | 'endSupportSession'
  | 'guestLink.created'
  | 'guestLink.opened'
  | 'guestLink.revoked'
  | 'joinBySingleSignOn'
  | 'notifications.chosen'
  | 'openRecovery'
  | 'openSupportSession'
  | 'operator case assign'
  | 'operator case remark'
  | 'proposeSingleSignOn'
  | 'recoverSignIn'
  | 'rejectSingleSignOn'
  | 'resetSignIn'
  | 'savedView.deleted'
  | 'savedView.renamed'
  | 'savedView.saved'
  | 'signIn'

/** Acts that a record may name. Acts of staff and of safeguarding are only in the operator's log, which has no page. */
export type RecordedAction =
  | OperationId
  | ServiceAct
  | typeof stepsAction
  | `operator ${string}`
  | `staff ${string}`
  | 'safeguarding.computed'

/** The index entries of a record. */
type NewAct = {
  readonly kind: RecordKind
  readonly action: string
  readonly actorId: string | null
  /** Ids of the subjects. Reads have their own index, `audit.subjects`. */
  readonly things: readonly string[]
}

/** The part of a record that is indexed. */
type ActSource = {
  readonly action: string
  readonly actor: { readonly id?: string }
  readonly subject: Readonly<Record<string, string>>
  readonly details?: Readonly<Record<string, unknown>>
}

const stepsAction = 'transaction.steps'

/** Normalises an id for the index. */
export const normalizeId = (id: string): string => id.toLowerCase()

/**
 * Builds the index entries of a record. Undefined for steps of a payment that no person has made: these are by far the most records, and the
 * payment shows them.
 */
export function toAct({ action, actor, subject, details }: ActSource, byPerson = false): NewAct | undefined {
  if (action === stepsAction && !byPerson) return undefined
  const kind = recordKind(action, details?.['made'] === true)
  const things = kind === 'Read' ? [] : [...new Set(Object.values(subject).map(normalizeId))]
  return { kind, action, actorId: actor.id ?? null, things }
}

/** Finds the kind of a record. A request that creates something counts as an act only with the record of what it created. */
function recordKind(action: string, isMade: boolean): RecordKind {
  const operation: Operation | undefined = Object.hasOwn(operations, action)
    ? operations[action as keyof typeof operations]
    : undefined
  if (operation === undefined) return 'Act'
  if (operation.permission.endsWith(':read')) return 'Read'
  return !isMade && typeof operation.makes === 'object' ? 'Request' : 'Act'
}
