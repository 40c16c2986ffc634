/**
 * Branding: names, logos and accent colours, of the installation and of partners. Pure. Invariants: text in an accent colour has a contrast
 * of at least 4.5 in both themes, and a logo runs and loads nothing.
 */
export { accentCss, themeAccents, contrastProblem, readColour } from './colours.ts'
export { logoDigest, convertLogo } from './drawn-logo.ts'
export { drawnPixelsMax, type Logo, readLogo } from './logo.ts'
export type { Brand } from './settings.ts'
