/** Pure: classifies records as acts, reads and requests, and finds their subjects. */
import { type Operation, type OperationId, operations, type RecordKind } from '@partner-payments/wire'

/**
 * Acts in a partner's log besides operations of the API and declared commands. The console has a text for each
 * (`serviceActs`).
 */
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

/**
 * Actions that a record may have. Those of staff and of safeguarding are only in the operator's log, which has no page.
 */
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
  /** Ids of the subjects. Empty for reads, which have their own index, `audit.subjects`. */
  readonly things: readonly string[]
}

/** The fields of a record that are indexed. */
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
 * Builds the index entries of a record. Undefined for steps of a payment by programs and workers: most records are such
 * steps, and the payment shows them.
 */
export function toAct({ action, actor, subject, details }: ActSource, byPerson = false): NewAct | undefined {
  if (action === stepsAction && !byPerson) return undefined
  const kind = recordKind(action, details?.['made'] === true)
  const things = kind === 'Read' ? [] : [...new Set(Object.values(subject).map(normalizeId))]
  return { kind, action, actorId: actor.id ?? null, things }
}

/**
 * Returns the kind of a record. A request that creates something is not an act itself: the record of the created object
 * is.
 */
function recordKind(action: string, isMade: boolean): RecordKind {
  const operation: Operation | undefined = Object.hasOwn(operations, action)
    ? operations[action as keyof typeof operations]
    : undefined
  if (operation === undefined) return 'Act'
  if (operation.permission.endsWith(':read')) return 'Read'
  return !isMade && typeof operation.makes === 'object' ? 'Request' : 'Act'
}
