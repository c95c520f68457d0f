/** The doors of the developer console: an account looks after its own applications. */
import { sendAppeal, showActivity } from './developer-activity.ts'
import {
  addSecret,
  register,
  revokeSecret,
  saveSettings,
  showOwnApplication,
  showOwnApplications,
  showRegistration,
  showSettings,
} from './developer-handlers.ts'
import { showPreview } from './developer-preview.ts'
import type { PageDoor } from './page-door.ts'

export const developerDoors: readonly PageDoor[] = [
  { method: 'GET', path: '/developer', access: 'administrator', handler: showOwnApplications },
  { method: 'GET', path: '/developer/new', access: 'administrator', handler: showRegistration, fresh: true },
  {
    method: 'POST',
    path: '/developer/new',
    access: 'administrator',
    handler: register,
    from: '/developer/new',
    fresh: true,
  },
  { method: 'GET', path: '/developer/application', access: 'administrator', handler: showOwnApplication },
  {
    method: 'POST',
    path: '/developer/application/secret',
    access: 'administrator',
    handler: addSecret,
    bound: ['application'],
    from: '/developer/application?application={application}',
    fresh: true,
  },
  {
    method: 'POST',
    path: '/developer/application/secret/revoke',
    access: 'administrator',
    handler: revokeSecret,
    bound: ['application', 'secret'],
    from: '/developer/application?application={application}',
    fresh: true,
  },
  {
    method: 'GET',
    path: '/developer/application/settings',
    access: 'administrator',
    handler: showSettings,
    fresh: true,
  },
  {
    method: 'POST',
    path: '/developer/application/settings',
    access: 'administrator',
    handler: saveSettings,
    bound: ['application'],
    from: '/developer/application/settings?application={application}',
    fresh: true,
  },
  { method: 'GET', path: '/developer/application/preview', access: 'administrator', handler: showPreview },
  { method: 'GET', path: '/developer/application/activity', access: 'administrator', handler: showActivity },
  {
    method: 'POST',
    path: '/developer/application/appeal',
    access: 'administrator',
    handler: sendAppeal,
    bound: ['application'],
    from: '/developer/application/activity?application={application}',
  },
]
