/** The job that makes the payouts of standing orders. */
import { defineJob, type Job } from '../../postgres/jobs/index.ts'
import type { StandingOrders } from './service.ts'
import { ordersDue } from './store.ts'

export const ordersJob = ({ step }: Pick<StandingOrders, 'step'>): Job =>
  defineJob({ name: 'payouts.orders', due: ordersDue, run: step, age: { queue: 'standing_orders' } })
