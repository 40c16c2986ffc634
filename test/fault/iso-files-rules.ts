/** What the killed processes and the one that goes on have in common. */
export const rulesOfRun = { preferred: 'Instant', instantMax: 10_00n, paymentsPerFileMax: 3 } as const
