/**
 * The runtime of background jobs: leases, retries, wake-ups, due times, orderly shutdown. CONTRIBUTING.md describes how
 * to declare a job.
 */
export { defineJob, type Job, createPartnerTurns } from './job.ts'
export { type RunningJobs, startJobs, tablesOfJob, announceWrites, listenForWrites } from './runtime.ts'
