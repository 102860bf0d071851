/** Jobs that are due. */
export const VIDEO_QUEUE = 'videos'
/** Canceled jobs whose render is to be stopped at the engine. */
export const CANCEL_QUEUE = 'video-cancels'

/** Topic of changed jobs, for caches of them. */
export const VIDEO_TOPIC = 'video'
/** Topic of deleted jobs, as `<org_id>/<id>`: their rows no longer name the organization. */
export const DELETED_TOPIC = 'video-deleted'
/** Topic of canceled jobs, for the consumer that holds them. */
export const CANCEL_TOPIC = 'video-cancel'
