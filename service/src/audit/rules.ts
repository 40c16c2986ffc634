/** Pure: which records are acts, which are reads, and what each is about. */
import { type Operation, type OperationId, operations, type RecordKind } from '@partner-payments/wire'

/** Acts in a partner's log that are no operation of the API and no declared command. The console has words for each (`serviceActs`). */
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

/** What a record may name as its act: acts of staff and of safeguarding are in the log of the operator only, which has no page. */
export type RecordedAction =
  | OperationId
  | ServiceAct
  | typeof stepsAction
  | `operator ${string}`
  | `staff ${string}`
  | 'safeguarding.computed'

/** Keys by which a record is found. */
type Act = {
  readonly kind: RecordKind
  readonly action: string
  readonly actorId: string | null
  /** Ids of the things that it is about. Reads have their own index, `audit.subjects`. */
  readonly things: readonly string[]
}

/** The part of a record by which it is found. */
type Recorded = {
  readonly action: string
  readonly actor: { readonly id?: string }
  readonly subject: Readonly<Record<string, string>>
  readonly details?: Readonly<Record<string, unknown>>
}

const stepsAction = 'transaction.steps'

/** An id as it is looked up. */
export const thingOf = (id: string): string => id.toLowerCase()

/**
 * Undefined: steps of a payment that a program, a worker, a bank or the time has made. They are the most records by far, and the payment
 * shows them.
 */
export function actOf({ action, actor, subject, details }: Recorded, byPerson = false): Act | undefined {
  if (action === stepsAction && !byPerson) return undefined
  const kind = kindOf(action, details?.['made'] === true)
  const things = kind === 'Read' ? [] : [...new Set(Object.values(subject).map(thingOf))]
  return { kind, action, actorId: actor.id ?? null, things }
}

/** A request to make something is no act yet: the record of what it made is. */
function kindOf(action: string, isMade: boolean): RecordKind {
  const operation: Operation | undefined = Object.hasOwn(operations, action)
    ? operations[action as keyof typeof operations]
    : undefined
  if (operation === undefined) return 'Act'
  if (operation.permission.endsWith(':read')) return 'Read'
  return !isMade && typeof operation.makes === 'object' ? 'Request' : 'Act'
}
