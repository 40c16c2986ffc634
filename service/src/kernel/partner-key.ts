/**
 * The map key of an item that belongs to a partner. Identifiers contain no line feed, so that different parts never give
 * the same key.
 */
export const partnerKey = (partnerId: string, ...parts: readonly string[]): string => [partnerId, ...parts].join('\n')
