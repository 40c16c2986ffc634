/**
 * Monitors: thresholds that a partner sets on its balances, and the notifications when a balance crosses one.
 *
 * Tables: accounts.monitored_balances, accounts.monitors, accounts.monitor_crossings. Invariants: a balance has at most
 * 20 monitors. A transfer causes at most one crossing of a monitor. The crossing, its event, its mails and the position
 * up to which the balance was evaluated commit together.
 */
export { renderMonitorMail } from './mail.ts'
export { monitorRoutes } from './routes.ts'
export { createMonitors, type Monitors } from './service.ts'
