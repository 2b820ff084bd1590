//! What Postgres tells this process: one connection listens to every channel and hands on what it hears.

use sqlx::{
    PgPool,
    postgres::{PgListener, PgNotification},
};
use std::time::Duration;
use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    task::JoinHandle,
    time::sleep,
};

/// Between two attempts to connect.
const RETRY: Duration = Duration::from_secs(1);

/// What a subscriber hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word<T> {
    /// A notification.
    Said(T),
    /// The connection was lost and is back: notifications may have been missed, so look instead.
    Missed,
}

/// The words of one channel. Not bounded: taking note of a word is quick, and `PgListener` has no bound either.
pub type Words<T> = UnboundedReceiver<Word<T>>;

/// Hands on a payload, or that some were missed. False once nobody listens any more.
type HandOn = Box<dyn Fn(Option<&str>) -> bool + Send>;

/// A connection that listens for all parts of a process. Subscribe first, then start it.
pub struct Listener {
    pool: PgPool,
    subscribers: Vec<(&'static str, HandOn)>,
}

/// A listener at work; it stops when dropped.
#[derive(Debug)]
pub struct Listening(JoinHandle<()>);

impl Listener {
    /// A listener that will take one connection of `pool`.
    pub fn new(pool: &PgPool) -> Self {
        Self {
            pool: pool.clone(),
            subscribers: Vec::new(),
        }
    }

    /// Subscribes to `channel`. Payloads of which `read` makes nothing are not for this subscriber.
    pub fn subscribe<T: Send + 'static>(
        &mut self,
        channel: &'static str,
        read: impl Fn(&str) -> Option<T> + Send + 'static,
    ) -> Words<T> {
        let (words, heard) = unbounded_channel();
        let hand_on = move |payload: Option<&str>| hand_on(&words, payload, &read);
        self.subscribers.push((channel, Box::new(hand_on)));
        heard
    }

    /// Starts to listen. Must be called within a tokio runtime.
    pub fn start(self) -> Listening {
        Listening(tokio::spawn(self.run()))
    }

    async fn run(mut self) {
        let mut is_told = false;
        loop {
            let error = match self.connect().await {
                Ok(mut connection) => {
                    // What was said before this, or while there was no connection, was not heard.
                    self.tell_missed();
                    is_told = false;
                    self.listen(&mut connection).await
                }
                Err(error) => error,
            };
            if !is_told {
                tracing::warn!(%error, "the database cannot be listened to; looking for news instead");
                is_told = true;
            }
            sleep(RETRY).await;
        }
    }

    async fn connect(&mut self) -> Result<PgListener, sqlx::Error> {
        let mut connection = PgListener::connect_with(&self.pool).await?;
        // The owner of the pool drops this too.
        connection.ignore_pool_close_event(true);
        let mut channels: Vec<&str> = self.subscribers.iter().map(|(channel, _)| *channel).collect();
        channels.sort_unstable();
        channels.dedup();
        connection.listen_all(channels).await?;
        Ok(connection)
    }

    /// Hands on what is heard until the connection fails for good.
    async fn listen(&mut self, connection: &mut PgListener) -> sqlx::Error {
        loop {
            match connection.try_recv().await {
                Ok(Some(notification)) => self.tell(&notification),
                // Lost, and made again.
                Ok(None) => self.tell_missed(),
                Err(error) => return error,
            }
        }
    }

    fn tell(&mut self, notification: &PgNotification) {
        self.subscribers
            .retain(|(channel, hand_on)| *channel != notification.channel() || hand_on(Some(notification.payload())));
    }

    fn tell_missed(&mut self) {
        self.subscribers.retain(|(_, hand_on)| hand_on(None));
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn hand_on<T>(words: &UnboundedSender<Word<T>>, payload: Option<&str>, read: impl Fn(&str) -> Option<T>) -> bool {
    let word = match payload {
        Some(payload) => read(payload).map(Word::Said),
        None => Some(Word::Missed),
    };
    match word {
        Some(word) => words.send(word).is_ok(),
        None => !words.is_closed(),
    }
}
