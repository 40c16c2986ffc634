/**
 * The key of one partner's thing in a map of many partners. Identifiers are UUIDs or contain no line feed, so that two
 * different lists of parts never make the same key.
 */
export const partnerKey = (partnerId: string, ...parts: readonly string[]): string => [partnerId, ...parts].join('\n')
