/** The settings of the installation's own name, logo and colours. */
import { readFileSync } from 'node:fs'
import { refuseSetting, type Settings } from '../kernel/index.ts'
import { type AccentColours, contrastProblem, readColour, type Theme } from './colours.ts'
import { type Logo, readLogo } from './logo.ts'

const nameCharsMax = 40

const readColourOf = (theme: Theme) => (value: string | undefined) => {
  if (value === undefined) return undefined
  const colour = readColour(value) ?? refuseSetting('must be a colour as #rrggbb')
  const problem = contrastProblem(colour, theme)
  return problem === undefined ? colour : refuseSetting(problem)
}

function readLogoFile(path: string | undefined): Logo | undefined {
  if (path === undefined) return undefined
  const bytes = readBytes(path)
  const logo = readLogo(bytes)
  return typeof logo === 'string' ? refuseSetting(`names a file that ${logo}`) : logo
}

function readBytes(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch {
    return refuseSetting('must be the path of a file that can be read')
  }
}

export const brandingSettings = {
  BRAND_NAME: {
    default: 'none: `Partner Payments` in authenticator apps, passkeys and mails',
    description: `Name of the installation in titles, mails, authenticator apps and passkeys: 1 to ${nameCharsMax} characters`,
    read: (value: string | undefined) => {
      if (value === undefined) return undefined
      // A colon ends the issuer in the label of an authenticator app; brackets and quotes end a name in a mail.
      return /^[^\p{C}\p{Zl}\p{Zp}:<>"]+$/u.test(value) && value === value.trim() && value.length <= nameCharsMax
        ? value
        : refuseSetting(`must be 1 to ${nameCharsMax} characters on one line, without : < > "`)
    },
  },
  BRAND_LOGO: {
    default: 'none',
    description: 'Path of the logo: a PNG, or an SVG of plain shapes, of at most 64 KiB. Every page shows it',
    // The value is the content of the file.
    secret: true,
    read: readLogoFile,
  },
  BRAND_COLOUR: {
    default: 'none: blue',
    description:
      'Accent colour of the pages, as `#rrggbb`. Refused if its contrast on the light background is below 4.5 (WCAG 2.2)',
    read: readColourOf('light'),
  },
  BRAND_COLOUR_DARK: {
    default: 'derived from BRAND_COLOUR',
    description: 'Accent colour of the dark theme. Refused if its contrast on the dark background is below 4.5',
    read: readColourOf('dark'),
  },
} as const satisfies Settings

/** The brand of the installation, as the pages show it. */
export type Brand = {
  readonly name?: string | undefined
  readonly logo?: Logo | undefined
  readonly accent?: AccentColours | undefined
}
