/** The reports of the connector to settlement: rows of this database, until they are acknowledged. */
import { ownJson } from '@partner-payments/wire'
import { type BankNotification, type Connector, untilAborted } from '../../rails/index.ts'
import type { BankDeps } from './deps.ts'
import { byShard } from './shards.ts'
import { applyEntries } from './store-entries.ts'
import * as store from './store-notifications.ts'

export function createNotificationsOf({
  db,
  clock,
  rules: { id },
  operatorId,
}: BankDeps): Pick<Connector, 'notifications' | 'notificationsDue' | 'acknowledge' | 'oldestNotification'> {
  return {
    notifications: async (notificationsMax, options) =>
      (await untilAborted(store.dueNotifications(db, id, notificationsMax), options)).map(toNotification),
    acknowledge: async (notifications, options) => {
      if (notifications.length === 0) return
      const ended = byShard(db, notifications).map((group) =>
        db.transaction(async (tx) => {
          const entries = await store.deleteNotifications(tx, id, group)
          if (entries.length > 0) await applyEntries(tx, operatorId, entries, clock.now())
        }),
      )
      await untilAborted(Promise.all(ended), options)
    },
    notificationsDue: (after) => store.notificationsDue(id, after),
    oldestNotification: () => store.oldestDue(db, id),
  }
}

type Stored = { readonly money?: { readonly currency: string; readonly amount: string } }

function toNotification({ payload, ...row }: store.NotificationRow): BankNotification {
  const { money, ...facts } = ownJson<Stored>(payload)
  const counted = money === undefined ? {} : { money: { ...money, amount: BigInt(money.amount) } }
  return { ...row, ...facts, ...counted } as BankNotification
}
