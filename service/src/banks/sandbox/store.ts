/** All SQL of the sandbox bank. */
import type { ErrorKey } from '@partner-payments/wire'
import {
  acrossPartners,
  dueWork,
  insertBy,
  ofPartners,
  type RowOf,
  type Sql,
  sql,
  type Tx,
  unprepared,
} from '../../postgres/index.ts'
import { type Currency, present, type Money } from '../../kernel/index.ts'
import type { InstructionKey } from '../../rails/index.ts'

const types = {
  partnerId: 'uuid',
  id: 'uuid',
  endToEndId: 'text',
  amount: 'bigint',
  currency: 'text',
  creditorName: 'text',
  creditorAccount: 'text',
  timesReceived: 'integer',
  accepted: 'boolean',
  errorKey: 'text?',
  errorDetails: 'text?',
  reasonCode: 'text?',
  receivedAt: 'timestamptz',
} as const
export type NewInstruction = RowOf<typeof types, { currency: Currency; errorKey: ErrorKey }>
export type InstructionRow = Pick<
  NewInstruction,
  'accepted' | 'errorKey' | 'errorDetails' | 'reasonCode' | 'timesReceived'
>

const newInstructions = insertBy<NewInstruction>(
  types,
  [
    ['partnerId', 'currency', 'creditorName', 'creditorAccount'],
    ['timesReceived', 'accepted', 'errorKey', 'errorDetails', 'reasonCode', 'receivedAt'],
  ],
  ['partnerId', 'id'],
)

/** Inserts each instruction once. Updates only the count of a known instruction, so its first answer stays. */
export function receiveInstructions(
  tx: Tx,
  rows: readonly NewInstruction[],
): Promise<readonly (InstructionRow & InstructionKey)[]> {
  return tx.rows(
    unprepared(sql`/* rails.receiveInstructions */
    insert into rails.sandbox_instructions (partner_id, id, end_to_end_id, amount, currency, creditor_name,
      creditor_account, times_received, accepted, error_key, error_details, reason_code, received_at)
    ${newInstructions(tx, rows)}
    on conflict (partner_id, id) do update
      set times_received = sandbox_instructions.times_received + excluded.times_received
    returning partner_id, id, accepted, error_key, error_details, reason_code, times_received`),
  )
}

export function instructionsByIds(
  tx: Tx,
  keys: readonly InstructionKey[],
): Promise<readonly (InstructionRow & InstructionKey)[]> {
  return tx.rows(sql`/* rails.instructionsByIds */
    select partner_id, id, accepted, error_key, error_details, reason_code, times_received
    from rails.sandbox_instructions
    where ${ofPartners(keys.map((key) => key.partnerId))} and id = any(${keys.map((key) => key.id)}::uuid[])`)
}

/** Finds the payment of an accepted instruction. */
export function acceptedPayment(tx: Tx, partnerId: string, id: string): Promise<Money | undefined> {
  return tx.row<Money>(sql`/* rails.acceptedPayment */
    select amount, currency from rails.sandbox_instructions where partner_id = ${partnerId} and id = ${id} and accepted`)
}

/** Stores a recall and returns how often the bank received it: 1 if it is new. */
export async function receiveRecall(
  tx: Tx,
  row: InstructionKey & { readonly instructionId: string; readonly reason: string; readonly receivedAt: Date },
): Promise<number> {
  const [received] = await tx.rows<{ timesReceived: number }>(sql`/* rails.receiveRecall */
    insert into rails.sandbox_recalls (partner_id, id, instruction_id, reason, times_received, received_at)
    values (${row.partnerId}, ${row.id}, ${row.instructionId}, ${row.reason}, 1, ${row.receivedAt})
    on conflict (partner_id, id) do update set times_received = sandbox_recalls.times_received + 1
    returning times_received`)
  return present(received, `recall ${row.id} was not stored`).timesReceived
}

const newNotifications = insertBy<NotificationRow & { readonly dueAt: Date }>(
  { partnerId: 'uuid', id: 'uuid', subjectId: 'uuid', kind: 'text', payload: 'json', dueAt: 'timestamptz' },
  [['partnerId'], ['kind', 'payload', 'dueAt']],
)

export function insertNotifications(tx: Tx, rows: readonly (NotificationRow & { readonly dueAt: Date })[]): void {
  tx.later(sql`/* rails.insertNotifications */
    insert into rails.sandbox_notifications (partner_id, id, subject_id, kind, payload, due_at)
    ${newNotifications(tx, rows)}`)
}

export type NotificationRow = {
  readonly partnerId: string
  readonly id: string
  readonly subjectId: string
  readonly kind: string
  readonly payload: string
}

/** Reads when the oldest unacknowledged notification became due. */
export async function oldestNotificationDueAt(tx: Tx, now: Date): Promise<Date | null> {
  const row = await tx.row<{ dueAt: Date }>(
    acrossPartners(
      'reads the age of the oldest bank notification, for a metric',
      sql`/* rails.oldestNotificationDueAt */ select due_at from rails.sandbox_notifications where due_at <= ${now} order by due_at limit 1`,
    ),
  )
  return row?.dueAt ?? null
}

export const notificationsDue = (after: Date): Sql =>
  dueWork(
    'reads when the next bank notification is due',
    (whose) => sql`/* rails.notificationsDue */
      select due_at from rails.sandbox_notifications where due_at > ${after} and ${whose()} order by due_at limit 1`,
  )

/** Lists due notifications of all partners, oldest first. */
export function dueNotifications(tx: Tx, now: Date, notificationsMax: number): Promise<readonly NotificationRow[]> {
  return tx.rows<NotificationRow>(
    dueWork(
      'reads due bank notifications in order of time',
      (whose) => sql`/* rails.dueNotifications */
      select partner_id, id, subject_id, kind, payload from rails.sandbox_notifications
      where due_at <= ${now} and ${whose()} order by due_at, id limit ${notificationsMax}`,
    ),
  )
}

/** Deletes acknowledged notifications. The bank does not need them again. */
export async function deleteNotifications(tx: Tx, notifications: readonly InstructionKey[]): Promise<void> {
  await tx.run(sql`/* rails.deleteNotifications */
    delete from rails.sandbox_notifications
    where ${ofPartners(notifications.map((notification) => notification.partnerId))}
      and id = any(${notifications.map((notification) => notification.id)}::uuid[])`)
}
