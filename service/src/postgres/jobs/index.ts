/**
 * The runtime of background jobs: leases, retries, wake-ups, due times, orderly shutdown. CONTRIBUTING.md says how to declare a job.
 */
export { type Age, defineJob, type Job } from './job.ts'
export { type JobsOptions, type RunningJobs, startJobs, tablesOfJob } from './runtime.ts'
export { announceWrites, listenForWrites } from './signals.ts'
export { createTurns } from './turns.ts'
