/** The kernel: clock, identifiers, money, logs, loops, encryption at rest, assertions. Knows no HTTP and no SQL. */
export * from './assert.ts'
export * from './clock.ts'
export * from './ids.ts'
export * from './log.ts'
export * from './loop.ts'
export * from './money.ts'
export * from './partner-key.ts'
export * from './seal.ts'
