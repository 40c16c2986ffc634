/** Operation id -> verb -> shape, for monitors. */
import type { ResponseOf } from '@partner-payments/wire'
import type { Handlers } from '../../../api/index.ts'
import type { Idempotency } from '../../../idempotency/index.ts'
import { writeAmount } from '../../../kernel/index.ts'
import { rearmedAt } from './rules.ts'
import type { CrossingItem, Monitor, Monitors } from './service.ts'

export function monitorRoutes(monitors: Monitors, idempotency: Idempotency): Handlers<'monitors'> {
  return {
    createAccountMonitor: idempotency.handler('createAccountMonitor', async ({ caller, params, body }, tx) => {
      const monitor = await monitors.createMonitor(keyOf(caller, params), body, tx)
      return { body: toWire(monitor), created: `the monitor ${monitor.id}` }
    }),
    listAccountMonitors: async ({ caller, params, query }) => {
      const page = await monitors.listMonitors(keyOf(caller, params), query)
      return { body: { ...page, data: page.data.map(toWire) } }
    },
    getAccountMonitor: async ({ caller, params }) => ({
      body: toWire(await monitors.getMonitor(keyOf(caller, params), params.monitorId)),
    }),
    updateAccountMonitor: async ({ caller, params, body }) => ({
      body: toWire(await monitors.updateMonitor(keyOf(caller, params), params.monitorId, body)),
    }),
    deleteAccountMonitor: async ({ caller, params }) => ({
      body: await monitors.deleteMonitor(keyOf(caller, params), params.monitorId).then(() => undefined),
    }),
    listAccountMonitorCrossings: async ({ caller, params, query }) => {
      const page = await monitors.listCrossings(keyOf(caller, params), params.monitorId, query)
      return { body: { ...page, data: page.data.map(toCrossing) } }
    },
  }
}

const keyOf = ({ partnerId }: { readonly partnerId: string }, { id }: { readonly id: string }) => ({
  partnerId,
  accountId: id,
})

function toWire(monitor: Monitor): ResponseOf<'getAccountMonitor'> {
  const { id, accountId, currency, direction, measure, threshold, description, state } = monitor
  const { lastTriggeredAt, lastBalance, createdAt, updatedAt, endedAt } = monitor
  return {
    id,
    accountId,
    currency,
    direction,
    threshold: writeAmount(threshold, currency),
    rearmAt: writeAmount(rearmedAt(monitor), currency),
    measure,
    notify: { emails: [...monitor.emails], event: monitor.sendsEvent },
    ...(description === null ? {} : { description }),
    state,
    ...(lastTriggeredAt === null ? {} : { lastTriggeredAt: lastTriggeredAt.toISOString() }),
    ...(lastBalance === null ? {} : { lastBalance: writeAmount(lastBalance, currency) }),
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
    ...(endedAt === null ? {} : { endedAt: endedAt.toISOString() }),
  }
}

const toCrossing = ({ id, crossedAt, kind, balance, currency, reference }: CrossingItem) => ({
  id,
  at: crossedAt.toISOString(),
  kind,
  balance: writeAmount(balance, currency),
  ...(reference === null ? {} : { reference }),
})
