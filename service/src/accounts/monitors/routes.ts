/** Maps API operations to module operations and response shapes, for monitors. */
import { monitors as wire } from '@partner-payments/wire'
import { type Handlers, writePage, createRecordWriter } from '../../kernel/api/index.ts'
import type { Idempotency } from '../../idempotency/index.ts'
import { toJsonAmount } from '../../kernel/index.ts'
import { rearmThreshold } from './rules.ts'
import type { CrossingItem, Monitor, Monitors } from './service.ts'

export function monitorRoutes(monitors: Monitors, idempotency: Idempotency): Handlers<'monitors'> {
  return {
    createAccountMonitor: idempotency.handler('createAccountMonitor', async ({ caller, params, body }, tx) => {
      const monitor = await monitors.createMonitor(keyOf(caller, params), body, tx)
      return { body: toWire(monitor), created: `the monitor ${monitor.id}` }
    }),
    listAccountMonitors: async ({ caller, params, query }) =>
      writePage(await monitors.listMonitors(keyOf(caller, params), query), toWire),
    getAccountMonitor: async ({ caller, params }) => ({
      body: toWire(await monitors.getMonitor(keyOf(caller, params), params.monitorId)),
    }),
    updateAccountMonitor: async ({ caller, params, body }) => ({
      body: toWire(await monitors.updateMonitor(keyOf(caller, params), params.monitorId, body)),
    }),
    deleteAccountMonitor: async ({ caller, params }) => ({
      body: await monitors.deleteMonitor(keyOf(caller, params), params.monitorId).then(() => undefined),
    }),
    listAccountMonitorCrossings: async ({ caller, params, query }) =>
      writePage(await monitors.listCrossings(keyOf(caller, params), params.monitorId, query), toCrossing),
  }
}

const keyOf = ({ partnerId }: { readonly partnerId: string }, { id }: { readonly id: string }) => ({
  partnerId,
  accountId: id,
})

const writeMonitor = createRecordWriter(wire.Monitor)
const toWire = (monitor: Monitor) =>
  writeMonitor({
    ...monitor,
    threshold: toJsonAmount(monitor.threshold, monitor.currency),
    rearmAt: toJsonAmount(rearmThreshold(monitor), monitor.currency),
    notify: { emails: monitor.emails, event: monitor.sendsEvent },
    lastBalance: monitor.lastBalance === null ? null : toJsonAmount(monitor.lastBalance, monitor.currency),
  })

const writeCrossing = createRecordWriter(wire.MonitorCrossing)
const toCrossing = ({ crossedAt: at, balance, currency, ...crossing }: CrossingItem) =>
  writeCrossing({ ...crossing, at, balance: toJsonAmount(balance, currency) })
